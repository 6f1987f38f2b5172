import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { get } from '../../api/client';
import { useSessionInterval } from '../../api/queries';
import type { Progress } from '../../api/schema';
import { count } from '../../base/format';
import { progressOf } from '../../base/progress';
import { toView } from '../../base/url';
import { Duration } from '../../ui/Duration';
import { Link } from '../../ui/Link';
import { StackedBar } from '../../ui/StackedBar';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import shared from './entities.module.css';
import css from './ProgressTable.module.css';

/** The attempts of a job or an actor, by state and by function. */
export function useEntityProgress(of: 'job_id' | 'actor_id', id: string) {
  const [url] = useSessionUrl();
  const interval = useSessionInterval(url.session);
  return useQuery({
    queryKey: ['progress', of, url.session, id],
    queryFn: ({ signal }) =>
      of === 'job_id'
        ? get('/jobs/{job_id}/progress', { job_id: id, session: url.session }, signal)
        : get('/actors/{actor_id}/progress', { actor_id: id, session: url.session }, signal),
    refetchInterval: interval,
  });
}

/** Number of ended attempts out of the total. */
export function ProgressCount({ progress }: { progress: Progress }) {
  const { t } = useTranslation();
  const { ended, all } = progressOf(progress.states);
  return all > 0 ? t('jobs.progressOf', { ended: count(ended), all: count(all) }) : null;
}

/** The functions with their attempts. `filter` is the filter by `id` in the list of tasks. */
export function ProgressTable(props: { progress: Progress; id: string; filter: 'job_id' | 'actor_id' }) {
  const { progress: data, id, filter } = props;
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  if (data.attempts === 0) return <p className={words.dim}>{t('jobs.noTasks')}</p>;
  return (
    <>
      <StackedBar states={data.states} stopped={data.stopped_by_libraries} height={8} />
      <table className={shared.jobFunctions}>
        <thead>
          <tr>
            <th>{t('jobs.function')}</th>
            <th>{t('jobs.progress')}</th>
            <th data-align="right">{t('jobs.attempts')}</th>
            <th data-align="right" title={t('timeHint.waiting')}>
              {t('time.waiting')}
            </th>
            <th data-align="right" title={t('timeHint.duration')}>
              {t('time.duration')}
            </th>
          </tr>
        </thead>
        <tbody>
          {/* A sum of 0 means that no attempt has the time. */}
          {data.functions.map((row) => (
            <tr key={`${row.func_name} ${row.type}`} data-testid="job-function">
              <td>
                <Link
                  className={`${words.link} ${words.ellipsis}`}
                  title={row.func_name ?? undefined}
                  to={toView(url, 'tasks', {
                    [filter]: id,
                    ...(row.func_name && { func_name: row.func_name }),
                    ...(row.type && { type: row.type }),
                  })}
                >
                  {row.func_name ?? t('common.unknown')}
                </Link>
              </td>
              <td>
                <StateBar of={row} />
              </td>
              <td data-align="right" className={words.num}>
                {count(row.attempts)}
              </td>
              <td data-align="right">
                <Duration ns={row.waiting_ns || null} />
              </td>
              <td data-align="right">
                <Duration ns={row.duration_ns || null} />
              </td>
            </tr>
          ))}
          {data.rest.functions > 0 && (
            <tr className={words.dim}>
              <td>{t('jobs.rest', { n: count(data.rest.functions) })}</td>
              <td>
                <StateBar of={data.rest} />
              </td>
              <td data-align="right" className={words.num}>
                {count(data.rest.attempts)}
              </td>
              <td />
              <td />
            </tr>
          )}
        </tbody>
      </table>
    </>
  );
}

/** A progress bar, with the counts of attempts in states other than FINISHED. */
function StateBar({ of }: { of: Pick<Progress, 'states' | 'stopped_by_libraries'> }) {
  const { t } = useTranslation();
  const { failed, cutOff, running, waiting } = progressOf(of.states, of.stopped_by_libraries);
  const notes = [
    failed > 0 && t('jobs.failed', { n: count(failed) }),
    of.stopped_by_libraries > 0 && t('failures.stopped', { n: count(of.stopped_by_libraries) }),
    cutOff > 0 && t('jobs.cutOff', { n: count(cutOff) }),
    running > 0 && t('jobs.running', { n: count(running) }),
    waiting > 0 && t('jobs.waiting', { n: count(waiting) }),
  ].filter((note) => note !== false);
  return (
    <div>
      <StackedBar states={of.states} stopped={of.stopped_by_libraries} />
      {notes.length > 0 && <div className={`${css.jobNotes} ${words.num}`}>{notes.join(' · ')}</div>}
    </div>
  );
}
