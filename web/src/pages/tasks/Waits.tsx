import { useTranslation } from 'react-i18next';
import type { TaskDetail } from '../../api/schema';
import { count, nanosBetween, shortId } from '../../base/format';
import { Section } from '../../ui/Drawer';
import { Duration } from '../../ui/Duration';
import { Link } from '../../ui/Link';
import plain from '../../ui/theme/plainTable.module.css';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import css from './Waits.module.css';

/** Maximum number of waits that are listed, longest first. */
const WAITS = 10;
/** Maximum number of tasks that are named per wait. */
const NAMED = 3;

/** The longest waits of the attempt in ray.get, ray.wait and await, with the tasks that it waited for. */
export function Waits({ task, attempt }: { task: TaskDetail; attempt: number }) {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  const names = new Map(task.data_in.map((edge) => [edge.producer_task_id, edge.producer_name]));
  const waits = task.spans
    .filter((span) => span.attempt === attempt && (span.blocked_on?.length ?? 0) > 0)
    .map((span) => ({
      ...span,
      spent: span.end_ns === null ? null : nanosBetween(span.begin_ns, span.end_ns),
    }))
    .sort((a, b) => (b.spent ?? Number.POSITIVE_INFINITY) - (a.spent ?? Number.POSITIVE_INFINITY));
  const summed = summedCalls(task, attempt);
  if (waits.length === 0 && summed === 0) return null;
  return (
    <Section
      title={t('flow.waits')}
      testId="task-waits"
      right={
        waits.length > WAITS && (
          <span className={`${words.dim} ${words.num}`}>
            {t('flow.longest', { shown: WAITS, total: count(waits.length) })}
          </span>
        )
      }
    >
      <table className={`${plain.table} ${css.waits}`}>
        <tbody>
          {waits.slice(0, WAITS).map((wait) => (
            <tr key={`${wait.name}:${wait.begin_ns}:${wait.end_ns}`}>
              <td className={words.mono}>{wait.name}</td>
              <td>
                {(wait.blocked_on ?? []).slice(0, NAMED).map((id, at) => (
                  <span key={id}>
                    {at > 0 && ', '}
                    <Link to={{ ...url, task: id, attempt: undefined }} title={id}>
                      {names.get(id) ?? shortId(id)}
                    </Link>
                  </span>
                ))}
                {(wait.blocked_on?.length ?? 0) > NAMED && (
                  <span className={words.dim}>
                    {' '}
                    {t('flow.more', { n: count((wait.blocked_on?.length ?? 0) - NAMED) })}
                  </span>
                )}
              </td>
              <td data-align="right">
                {wait.spent === null ? (
                  <span className={words.dim}>{t('flow.stillBlocked')}</span>
                ) : (
                  <Duration ns={wait.spent} />
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {summed > 0 && <p className={`${words.line} ${words.dim}`}>{t('flow.summed', { n: count(summed) })}</p>}
    </Section>
  );
}

/** Number of calls beyond Ray's limit, of which only the number and the total time are known. */
function summedCalls(task: TaskDetail, attempt: number): number {
  let calls = 0;
  for (const span of task.spans) {
    if (span.attempt !== attempt || typeof span.extra !== 'string' || !span.extra.startsWith('{"calls":'))
      continue;
    try {
      calls += Number((JSON.parse(span.extra) as { calls?: unknown }).calls) || 0;
    } catch {
      // This span's data is not from Rayscope.
    }
  }
  return calls;
}
