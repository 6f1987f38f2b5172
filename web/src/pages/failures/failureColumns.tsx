import { IconChevronRight } from '@tabler/icons-react';
import type { TFunction } from 'i18next';
import { useTranslation } from 'react-i18next';
import type { FailedAttempt, FailureGroup } from '../../api/schema';
import { count } from '../../base/format';
import { outcomeTones } from '../../base/tokens';
import { CopyButton } from '../../ui/CopyButton';
import { CopyId } from '../../ui/CopyId';
import { Dash } from '../../ui/Dash';
import { useFailureText } from '../../ui/DeathCause';
import { Dot } from '../../ui/Dot';
import { OriginTag } from '../../ui/insights/OriginTag';
import { Link } from '../../ui/Link';
import { NodeLabel } from '../../ui/NodeLabel';
import { Time } from '../../ui/Time';
import { type Column, TIME_WIDTH } from '../../ui/table/columns';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import css from './failureColumns.module.css';
import { type FailureRow, failureKey, isGroup, isMore } from './failureRows';

/** The columns for groups and their attempts. The first ones are about what failed, why and where. */
export function failureColumns(t: TFunction, unfolded: ReadonlySet<string>): Column<FailureRow>[] {
  const ofGroup = (cell: (group: FailureGroup) => React.ReactNode) => (row: FailureRow) =>
    isGroup(row) ? cell(row) : null;
  return [
    {
      id: 'name',
      field: 'func_name',
      header: t('column.func_name'),
      width: 170,
      cell: (row) =>
        isGroup(row) ? (
          <GroupName group={row} isUnfolded={unfolded.has(failureKey(row))} />
        ) : isMore(row) ? null : (
          <span className={css.attempt}>
            <span className={words.dim}>{t('task.attempt', { n: row.attempt + 1 })}</span>
            <CopyId id={row.task_id} />
          </span>
        ),
    },
    {
      id: 'error_message',
      field: 'message',
      header: t('column.error_message'),
      width: 260,
      grow: true,
      cell: (row) =>
        isMore(row) ? (
          <span className={`${words.ellipsis} ${css.more}`}>
            {t('failures.more', { shown: count(row.of.latest.length), n: count(row.of.attempts) })}
          </span>
        ) : (
          <Message row={row} />
        ),
    },
    {
      id: 'outcome',
      header: t('failures.outcome'),
      width: 158,
      cell: (row) =>
        isMore(row) ? null : (
          <span className={words.state} title={isGroup(row) ? t('failures.tasks', tasks(row)) : undefined}>
            <Dot color={`var(--rs-tone-${outcomeTones[row.outcome]})`} />
            <span className={words.ellipsis}>{t(`failures.outcomes.${row.outcome}`)}</span>
          </span>
        ),
    },
    {
      id: 'attempts',
      header: t('failures.count'),
      hint: t('failures.countHint'),
      width: 60,
      align: 'right',
      cell: ofGroup((group) => <span className={words.num}>{count(group.attempts)}</span>),
    },
    {
      id: 'line',
      value: (row) => isGroup(row) && row.file && `${row.file}:${row.line}`,
      header: t('failures.line'),
      hint: t('failures.lineHint'),
      width: 176,
      cell: ofGroup(({ file, line, path }) => (
        <SourceLine file={file} line={line} path={path && `${path}:${line}`} />
      )),
    },
    {
      id: 'error_type',
      header: t('column.error_type'),
      width: 150,
      optional: true,
      cell: ofGroup((group) => <Line text={group.error_type} title={group.error_type} />),
    },
    {
      id: 'first',
      header: t('failures.first'),
      width: TIME_WIDTH,
      optional: true,
      cell: ofGroup((group) => <Time ns={group.first_ns} />),
    },
    {
      id: 'last',
      value: (row) => (isMore(row) ? null : isGroup(row) ? row.last_ns : row.end_ns),
      field: 'last_ns',
      header: t('failures.last'),
      width: TIME_WIDTH,
      cell: (row) => (isMore(row) ? null : <Time ns={isGroup(row) ? row.last_ns : row.end_ns} />),
    },
    {
      id: 'node',
      header: t('column.node'),
      width: 104,
      optional: true,
      cell: (row) => (isGroup(row) || isMore(row) ? null : <NodeLabel id={row.node_id} />),
    },
  ];
}

const tasks = (group: FailureGroup) => ({
  final: count(group.final),
  retrying: count(group.retrying),
  recovered: count(group.recovered),
});

/** The exception. In a group, it links to the newest attempt with its traceback and log lines. */
function Message({ row }: { row: FailureGroup | FailedAttempt }) {
  const { t } = useTranslation();
  const [url] = useSessionUrl();
  const textOf = useFailureText();
  if (!isGroup(row)) return <Line text={row.message} title={row.message} mono />;
  const [newest] = row.latest;
  if (newest === undefined || !row.message) return <Line text={row.message} title={row.example} mono />;
  return (
    <Link
      to={{ ...url, task: newest.task_id, attempt: newest.attempt }}
      className={`${words.link} ${words.ellipsis} ${words.mono}`}
      title={`${t('failures.newest')}\n${row.example ?? ''}`}
      testId="failure-newest"
    >
      {textOf(row)}
    </Link>
  );
}

/** The line of user code that raised the exception. The full path can be copied into an editor. */
function SourceLine(props: { file: string | null; line: number | null; path: string | null }) {
  const { file, line, path } = props;
  const { t } = useTranslation();
  if (!file) return <Dash />;
  return (
    <span className={css.source}>
      <span className={css.place}>
        <Line text={file} title={path} mono />
        <span className={`${words.mono} ${css.number}`}>:{line}</span>
      </span>
      {path && <CopyButton text={path} label={t('failures.copyLine', { path })} />}
    </span>
  );
}

/** A group's name. A click on it counts as a click on the row. */
function GroupName({ group, isUnfolded }: { group: FailureGroup; isUnfolded: boolean }) {
  return (
    <button type="button" className={css.name} aria-expanded={isUnfolded}>
      <IconChevronRight
        size={14}
        className={isUnfolded ? `${css.icon} ${words.turned}` : css.icon}
        aria-hidden
      />
      <Line text={group.func_name} title={group.func_name} />
      <OriginTag origin={group.origin} operator={group.operator} name={group.func_name} />
    </button>
  );
}

function Line(props: { text: string | null; title: string | null; mono?: boolean }) {
  if (!props.text) return <Dash />;
  return (
    <span
      className={props.mono ? `${words.ellipsis} ${words.mono}` : words.ellipsis}
      title={props.title ?? undefined}
    >
      {props.text}
    </span>
  );
}
