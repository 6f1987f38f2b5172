import { IconDownload, IconFileText } from '@tabler/icons-react';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { apiPath } from '../../api/client';
import { refreshInterval } from '../../api/connection';
import { answerTo } from '../../api/queries';
import type { LogPart } from '../../api/schema';
import { count } from '../../base/format';
import { toView, withSettings } from '../../base/url';
import { CopyButton } from '../CopyButton';
import { ErrorPanel } from '../ErrorPanel';
import { Link } from '../Link';
import words from '../theme/words.module.css';
import { useServerMessage } from '../useServerMessage';
import { useSessionUrl } from '../useUrl';
import { fileDetails, fileTitle } from './fileName';
import { LogLines } from './LogLines';
import { LogNote } from './LogNote';
import css from './LogPanel.module.css';

interface LogOwner {
  task_id?: string;
  /** The attempt of the task; by default, the last one. */
  attempt?: number;
  actor_id?: string;
  job_id?: string;
  worker_id?: string;
}

const NOTES = ['not_started', 'gone', 'actor_task', 'no_offsets', 'rotated', 'driver_terminal'] as const;
/** Number of parts shown at first. An owner with many workers has many parts. */
const FEW = 4;
const ROW = 19;
const HIGHEST = 320;

/** The last log lines of a task's attempt, an actor, a job or a worker, with links to the full files. */
export function LogPanel({ of }: { of: LogOwner }) {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  const [all, setAll] = useState(false);
  const logQuery = useQuery({
    ...answerTo('/logs/of', { session: url.session, ...of, limit: 200 }),
    placeholderData: keepPreviousData,
    refetchInterval: (query) =>
      query.state.data?.live ? refreshInterval(4_000) : query.state.error !== null && refreshInterval(10_000),
  });
  const { data } = logQuery;
  if (data === undefined)
    return logQuery.error !== null ? (
      <ErrorPanel error={logQuery.error} onRetry={() => void logQuery.refetch()} />
    ) : (
      <p className={`${words.line} ${words.dim}`}>{t('logs.loading')}</p>
    );
  const notes = NOTES.filter((note) => data.notes.includes(note));
  const withLines = data.parts.filter(
    (part) => part.problem !== null || part.page?.lines.some((line) => !line.is_mark),
  );
  const quietDriver = data.parts.some((part) => part.stream === 'driver' && !withLines.includes(part));
  const emptyParts = data.parts.length - withLines.length;
  const shown = all ? withLines : withLines.slice(0, FEW);
  return (
    <div data-testid="log-panel">
      {notes.map((note) => (
        <p key={note} className={`${words.line} ${words.dim}`} data-note={note}>
          {t(`logs.note.${note}`)}
        </p>
      ))}
      {shown.map((part) => (
        <Part key={`${part.node_id}/${part.name}/${part.begin}`} part={part} />
      ))}
      {withLines.length > shown.length && (
        <button type="button" className={words.link} onClick={() => setAll(true)}>
          {t('logs.moreParts', { n: count(withLines.length - shown.length) })}
        </button>
      )}
      {data.parts.length > 0 && withLines.length === 0 && (
        <p className={`${words.line} ${words.dim}`}>{t('logs.printedNothing')}</p>
      )}
      {quietDriver && withLines.length > 0 && (
        <p className={`${words.line} ${words.dim}`}>{t('logs.driverPrintedNothing')}</p>
      )}
      {emptyParts > 0 && withLines.length > 0 && (
        <p className={`${words.line} ${words.dim}`}>{t('logs.silent', { n: count(emptyParts) })}</p>
      )}
      {data.left_out > 0 && (
        <p className={`${words.line} ${words.dim}`}>
          {t('logs.workersLeftOut', { n: count(data.left_out) })}
        </p>
      )}
    </div>
  );
}

/** The title of a part: the writer and its process, otherwise the file's name. */
function usePartTitle() {
  const { t } = useTranslation();
  return (part: LogPart) => {
    const named = { ...part, kind: part.stream === 'driver' ? 'driver' : `worker_${part.stream}` };
    return [fileTitle(t, named), ...fileDetails(t, named).slice(1)].join(' · ');
  };
}

function Part({ part }: { part: LogPart }) {
  const [url] = useSessionUrl();
  const [follow, setFollow] = useState(true);
  const { t } = useTranslation();
  const translate = useServerMessage();
  const partTitle = usePartTitle();
  const lines = (part.page?.lines ?? []).filter((line) => !line.is_mark);
  const first = lines[0];
  const to = withSettings(toView(url, 'logs'), {
    node: part.node_id,
    file: part.name,
    line: first === undefined ? undefined : String(first.offset),
  });
  return (
    <div className={css.part} data-stream={part.stream}>
      <div className={css.head}>
        <IconFileText size={14} aria-hidden />
        <span className={words.ellipsis} title={part.name}>
          {t(`logs.stream.${part.stream as 'out' | 'err' | 'driver'}`)}
          <span className={words.dim}> · {partTitle(part)}</span>
        </span>
        {part.page !== null && part.page.prev !== null && (
          <span className={words.dim}>{t('logs.lastLines', { n: count(lines.length) })}</span>
        )}
        <Link to={to} testId="log-open">
          {t('logs.open')}
        </Link>
        <CopyButton text={lines.map((line) => line.text).join('\n')} />
        <a
          className={words.link}
          href={apiPath('/logs/download', { session: url.session, node_id: part.node_id, name: part.name })}
          download
          aria-label={t('logs.download')}
          title={t('logs.download')}
        >
          <IconDownload size={15} aria-hidden />
        </a>
      </div>
      {part.problem !== null && (
        <p className={`${words.line} ${words.dim}`}>{translate(part.problem).message}</p>
      )}
      {part.page?.problem && <LogNote>{t('logs.keptOnly')}</LogNote>}
      {lines.length > 0 && (
        <div className={css.lines} style={{ height: Math.min(HIGHEST, lines.length * ROW + 14) }}>
          <LogLines
            lines={lines}
            search={null}
            wrap={false}
            follow={follow}
            onLeave={() => setFollow(false)}
            label={part.name}
            testId="log-panel-lines"
          />
        </div>
      )}
    </div>
  );
}
