import { Badge, Button, Checkbox, Group, Skeleton, Text, TextInput, Title, Tooltip } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import {
  IconAlertTriangle,
  IconFilterX,
  IconGitCompare,
  IconSearch,
  IconTelescope,
} from '@tabler/icons-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useFoundSessions } from '../../api/queries';
import { useSlowerRuns } from '../../api/runs';
import type { RunItem, SessionItem } from '../../api/schema';
import { bytes, count } from '../../base/format';
import { formatUrl, MAX_COMPARED } from '../../base/url';
import { useTitle } from '../../shell/useTitle';
import { Command } from '../../ui/Command';
import { CopyId } from '../../ui/CopyId';
import { EmptyState } from '../../ui/EmptyState';
import { ErrorPanel } from '../../ui/ErrorPanel';
import { ItemState } from '../../ui/ItemState';
import { Link } from '../../ui/Link';
import { SlowerMark } from '../../ui/runs/SlowerMark';
import { StackedBar } from '../../ui/StackedBar';
import { useSessionTexts } from '../../ui/session';
import layout from '../../ui/theme/layout.module.css';
import words from '../../ui/theme/words.module.css';
import { useServerMessage } from '../../ui/useServerMessage';
import { go, useUrl } from '../../ui/useUrl';
import { OpenFileButton, useFileDrop, useOpenFile } from './OpenFile';
import { SessionMenu } from './SessionMenu';
import css from './SessionsPage.module.css';

/**
 * Number of rows that are shown at first and added with each click. Rows are expensive: each has a menu and
 * several tooltips.
 */
const ROWS = 100;
/** Minimum number of sessions for which a filter is shown. */
const MIN_FILTERABLE = 5;
/** Delay between the last keystroke and the update of the filter, ms. */
const PAUSE = 250;

export function SessionsPage() {
  const { t } = useTranslation();
  const [typed, setTyped] = useState('');
  const [q] = useDebouncedValue(typed.trim(), PAUSE);
  const [rows, setRows] = useState(ROWS);
  const [ticked, setTicked] = useState<readonly SessionItem[]>([]);
  const sessions = useFoundSessions(q);
  const items = sessions.data?.items;
  const openFile = useOpenFile();
  const { isOver, handlers } = useFileDrop(openFile);
  const slower = useSlowerRuns();
  useTitle(t('sessions.title'));
  return (
    <main
      className={`${layout.main} ${css.sessions}`}
      id="main"
      tabIndex={-1}
      data-dropping={isOver || undefined}
      {...handlers}
    >
      {isOver && (
        <div className={css.drop} data-testid="sessions-drop">
          {t('sessions.file.drop')}
        </div>
      )}
      <div className={css.head} data-ticked={ticked.length > 0 || undefined}>
        <div>
          <Title order={1}>{t('sessions.title')}</Title>
          <Text size="sm" c="dimmed">
            {t('app.tagline')}
          </Text>
        </div>
        <Group gap={12}>
          {ticked.length > 0 && <CompareButton ticked={ticked} />}
          {(typed !== '' || (items?.length ?? 0) >= MIN_FILTERABLE) && (
            <TextInput
              className={css.search}
              size="xs"
              placeholder={t('sessions.search')}
              aria-label={t('sessions.search')}
              value={typed}
              onChange={(event) => {
                setTyped(event.currentTarget.value);
                setRows(ROWS);
              }}
              leftSection={<IconSearch size={14} />}
              data-testid="sessions-search"
            />
          )}
          <OpenFileButton onFile={openFile} />
        </Group>
      </div>
      {sessions.error !== null && items === undefined && (
        <ErrorPanel error={sessions.error} onRetry={() => void sessions.refetch()} />
      )}
      {sessions.isPending && [0, 1, 2].map((at) => <Skeleton key={at} height={84} mb={8} radius="sm" />)}
      {items?.length === 0 && (q === '' ? <NoSessions /> : <NoneFound />)}
      <ul>
        {items?.slice(0, rows).map((session) => (
          <SessionRow
            key={session.session}
            session={session}
            slower={slower.find((run) => run.session === session.session)}
            isTicked={ticked.some(({ session: name }) => name === session.session)}
            onTick={() => setTicked((before) => toggled(before, session))}
          />
        ))}
      </ul>
      {items !== undefined && items.length > rows && (
        <Button variant="default" size="xs" onClick={() => setRows(rows + ROWS)} data-testid="sessions-more">
          {t('sessions.more', { shown: count(rows), total: count(sessions.data?.total ?? items.length) })}
        </Button>
      )}
    </main>
  );
}

const toggled = (ticked: readonly SessionItem[], session: SessionItem) => {
  const others = ticked.filter((other) => other.session !== session.session);
  return others.length < ticked.length ? others : [...ticked, session];
};

/** Compares the oldest ticked session with the others. */
function CompareButton({ ticked }: { ticked: readonly SessionItem[] }) {
  const { t } = useTranslation();
  const { lang } = useUrl();
  const [a = '', ...b] = [...ticked]
    .sort((one, other) => Number(one.first_ns) - Number(other.first_ns))
    .map(({ session }) => session);
  const isTooMany = b.length > MAX_COMPARED;
  return (
    <>
      {b.length === 0 && <span className={words.dim}>{t('sessions.compareMore')}</span>}
      {isTooMany && <span className={words.dim}>{t('sessions.compareLess', { n: MAX_COMPARED + 1 })}</span>}
      <Button
        size="xs"
        leftSection={<IconGitCompare size={15} />}
        disabled={b.length === 0 || isTooMany}
        onClick={() => go({ page: 'compare', a, b: b.join(','), lang })}
        data-testid="sessions-compare"
      >
        {t('sessions.compare')}
      </Button>
    </>
  );
}

function SessionRow(props: {
  session: SessionItem;
  slower: RunItem | undefined;
  isTicked: boolean;
  onTick: () => void;
}) {
  const { session } = props;
  const { t, i18n } = useTranslation();
  const { lang } = useUrl();
  const readable = session.state !== 'unreadable';
  const to = { page: 'session', session: session.session, view: 'overview', filters: {}, lang } as const;
  const recording = i18n.exists(`sessions.recording.${session.recording}`);
  const texts = useSessionTexts();
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the link inside handles the keys.
    <li
      className={css.session}
      data-testid="session-row"
      data-session={session.session}
      data-state={session.state}
      onClick={(event) => {
        if (!readable || (event.target as HTMLElement).closest('a, button, label, input') !== null) return;
        if (event.metaKey || event.ctrlKey) window.open(formatUrl(to), '_blank', 'noopener');
        else go(to);
      }}
    >
      <span>
        {readable && (session.jobs ?? 0) > 0 && (
          <Checkbox
            size="xs"
            checked={props.isTicked}
            onChange={props.onTick}
            aria-label={t('sessions.compareTick', { name: texts.name(session) })}
            data-testid="session-tick"
          />
        )}
      </span>
      <div className={css.main}>
        <div>
          {readable ? (
            <Link to={to} className={css.link}>
              {texts.name(session)}
            </Link>
          ) : (
            <span className={css.link}>{texts.name(session)}</span>
          )}
          <span className={`${words.dim} ${css.place}`}> · {texts.place(session)}</span>
        </div>
        {session.note && <p className={css.note}>{session.note}</p>}
        <div className={css.tags}>
          {session.tags.map((tag) => (
            <Badge key={tag} size="sm" variant="default" tt="none">
              {tag}
            </Badge>
          ))}
          <span className={css.tag}>
            <ItemState state={session.state} label={t(`sessions.${session.state}`)} />
          </span>
          {recording && (
            <Tooltip label={t(`sessions.recordingHint.${session.recording}`)}>
              <span className={css.tag}>{t(`sessions.recording.${session.recording}`)}</span>
            </Tooltip>
          )}
          <SlowerMark run={props.slower} />
          {session.location !== 'local' && (
            <Tooltip label={t(`sessions.locationHint.${session.location}`)}>
              <span className={css.tag} data-testid="session-location">
                {t(`sessions.location.${session.location}`)}
              </span>
            </Tooltip>
          )}
          {session.ray_version && (
            <span className={css.tag}>{t('sessions.ray', { version: session.ray_version })}</span>
          )}
          {(session.dropped_total ?? 0) > 0 && (
            <Tooltip label={t('sessions.droppedHint')}>
              <Badge
                size="sm"
                variant="light"
                color="yellow"
                tt="none"
                leftSection={<IconAlertTriangle size={11} />}
                data-testid="session-dropped"
              >
                {t('sessions.dropped', { n: count(session.dropped_total) })}
              </Badge>
            </Tooltip>
          )}
          <CopyId id={session.session} full />
        </div>
      </div>
      {readable ? (
        <>
          <div className={css.bar}>
            <StackedBar states={session.states ?? {}} />
          </div>
          <dl className={css.figures}>
            <Figure name={t('sessions.tasks')} value={count(session.tasks)} />
            <Figure name={t('sessions.actors')} value={count(session.actors)} />
            <Figure name={t('sessions.nodes')} value={count(session.nodes)} />
            <Figure name={t('sessions.jobs')} value={count(session.jobs)} />
            <Figure name={t('sessions.disk')} value={bytes(session.disk_bytes)} />
          </dl>
        </>
      ) : (
        <div className={css.error} data-testid="session-error">
          <IconAlertTriangle size={15} aria-hidden />
          <span className={words.breaks}>
            <SessionProblem session={session} />
          </span>
        </div>
      )}
      <SessionMenu session={session} />
    </li>
  );
}

function Figure({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd className={words.num}>{value}</dd>
    </div>
  );
}

function NoneFound() {
  const { t } = useTranslation();
  return <EmptyState icon={<IconFilterX size={26} />} title={t('sessions.noneFound')} />;
}

function NoSessions() {
  const { t } = useTranslation();
  return (
    <div className={css.nothing} data-testid="sessions-empty">
      <EmptyState icon={<IconTelescope size={32} />} title={t('sessions.empty.title')}>
        {t('sessions.empty.text')}
      </EmptyState>
      {(
        [
          ['run', 'rayscope run SCRIPT.py'],
          ['attach', 'rayscope attach ADDRESS'],
          ['start', 'rayscope start -- --head'],
        ] as const
      ).map(([way, command]) => (
        <div key={way} className={css.way}>
          <Text size="sm">{t(`sessions.empty.${way}`)}</Text>
          <Command>{command}</Command>
        </div>
      ))}
    </div>
  );
}

function SessionProblem({ session }: { session: SessionItem }) {
  const { t } = useTranslation();
  const translate = useServerMessage();
  if (session.problem === null) return session.error ?? t('error.session');
  const { message, remedy } = translate(session.problem);
  return `${message} ${remedy ?? ''}`;
}
