import { Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useCriticalPath } from '../../api/criticalPath';
import type { CriticalPathAnswer } from '../../api/schema';
import { duration, percent } from '../../base/format';
import { PHASE_STATES, type SchedulingPhase } from '../../base/scheduling';
import { stateColor } from '../../base/tokens';
import { slowestOf, toView, withFilter, withSettings } from '../../base/url';
import { usePathPhase } from '../criticalPath';
import { useJobName } from '../JobName';
import { Link } from '../Link';
import { useSessionUrl } from '../useUrl';
import { Panel, PanelBody } from './Panel';
import css from './WhyPanel.module.css';

/** Number of causes with a bar. */
const BARS = 5;

/** The critical path of a job (or the longest one) by cause, with links. */
export function WhyPanel({ job: of }: { job?: string }) {
  const { t } = useTranslation();
  const [url] = useSessionUrl();
  const path = useCriticalPath(url.session, of, true);
  const jobName = useJobName();
  return (
    <Panel
      title={
        path.data === undefined
          ? t('overview.path')
          : t(path.data.so_far ? 'overview.whySoFar' : 'overview.why', {
              job: path.data.job_id ? jobName(path.data.job_id) : '–',
              lasted: duration(path.data.duration_ns),
            })
      }
      to={withSettings(toView(url, 'gantt', path.data?.job_id ? { job_id: path.data.job_id } : {}), {
        path: '1',
      })}
      testId="panel-why"
      wide
    >
      <PanelBody data={path.data} error={path.error} missing={t('overview.noTasks')}>
        {(found) => <Parts path={found} />}
      </PanelBody>
    </Panel>
  );
}

function Parts({ path }: { path: CriticalPathAnswer }) {
  const { t } = useTranslation();
  const causes = path.causes.slice(0, BARS);
  const whole = Math.max(1, path.duration_ns);
  const rest = whole - causes.reduce((sum, { total_ns }) => sum + total_ns, 0);
  return (
    <>
      {causes.map((cause) => (
        <Part
          key={`${cause.phase} ${cause.is_driver} ${cause.name}`}
          cause={cause}
          whole={whole}
          job={path.job_id}
        />
      ))}
      {rest > whole * 0.005 && (
        <Text size="xs" c="dimmed" px={6} pt={4}>
          {t('overview.whyRest', { rest: duration(rest), share: percent(rest / whole) })}
        </Text>
      )}
    </>
  );
}

/**
 * A bar. It links to the slowest attempts of the function if it shows execution, otherwise to the path on the
 * Gantt chart.
 */
function Part({
  cause,
  whole,
  job,
}: {
  cause: CriticalPathAnswer['causes'][number];
  whole: number;
  job: string | null;
}) {
  const { t } = useTranslation();
  const [url] = useSessionUrl();
  const phaseName = usePathPhase();
  const { name, phase, total_ns: total, is_driver: isDriver, functions } = cause;
  const who = isDriver ? t('task.driver') : name || t('gantt.noFunction');
  const ran = phase === 'executing';
  const to =
    ran && !isDriver && name
      ? withFilter(slowestOf(url, { func_name: name, type: null }), 'job_id', job ?? undefined)
      : withSettings(toView(url, 'gantt', job ? { job_id: job } : {}), { path: '1' });
  return (
    <Link to={to} className={css.part} testId="why-part">
      <span className={css.name} data-phase={phase}>
        {ran ? who : phaseName(phase)}
      </span>
      <span className={css.phase}>
        {ran
          ? phaseName(phase)
          : functions > 1
            ? t('overview.whyMost', { name: who, more: functions - 1 })
            : who}
      </span>
      <span className={css.track}>
        <span
          className={css.bar}
          style={{
            width: `${(total / whole) * 100}%`,
            background: stateColor(PHASE_STATES[phase as SchedulingPhase] ?? 'CUT_OFF'),
          }}
        />
      </span>
      <span className={css.time}>
        {duration(total)} · {percent(total / whole)}%
      </span>
    </Link>
  );
}
