import { useTranslation } from 'react-i18next';
import type { CriticalPathAnswer } from '../../api/schema';
import { count, duration, percent } from '../../base/format';
import { usePalette } from '../../ui/canvas';
import { pathParts, usePathPhase } from '../../ui/criticalPath';
import { ErrorPanel } from '../../ui/ErrorPanel';
import { useJobName } from '../../ui/JobName';
import words from '../../ui/theme/words.module.css';
import panels from '../shared/panels.module.css';
import shared from './gantt.module.css';

/** The time that a path spent waiting for busy workers is mentioned from this share on. */
const HELD_SHARE = 0.05;

/** The parts of the critical path, largest first. */
export function GanttPath(props: {
  path: CriticalPathAnswer | undefined;
  error: Error | null;
  onShow: (name: string, phase: string, isDriver: boolean) => void;
}) {
  const { t } = useTranslation();
  const phaseName = usePathPhase();
  const jobName = useJobName();
  const look = usePalette();
  const { path } = props;
  return (
    <section className={shared.path} aria-label={t('gantt.path')} data-testid="gantt-path">
      <div className={shared.pathHead}>
        <h3>{t('gantt.path')}</h3>
        {path && (
          <span className={`${words.num} ${words.dim}`} data-testid="gantt-path-duration">
            {duration(path.duration_ns)}
          </span>
        )}
      </div>
      {path === undefined ? (
        props.error ? (
          <ErrorPanel error={props.error} />
        ) : (
          <p className={`${words.dim} ${shared.pathText}`}>{t('gantt.walking')}</p>
        )
      ) : (
        <>
          <p className={`${words.dim} ${shared.pathText}`}>
            {t(path.so_far ? 'gantt.pathSoFar' : 'gantt.pathHint', {
              job: path.job_id ? jobName(path.job_id) : '–',
              links: count(path.links_total),
            })}
            {path.held_ns > path.duration_ns * HELD_SHARE &&
              ` ${t('gantt.pathHeld', {
                held: duration(path.held_ns),
                share: percent(path.held_ns / path.duration_ns),
              })}`}
            {!path.driver_traced && ` ${t('gantt.pathUntraced')}`}
            {path.truncated && <b> {t('gantt.pathCut')}</b>}
          </p>
          <ul>
            {pathParts(path).map(({ name, phase, total, without, isDriver }) => (
              <li key={`${phase} ${isDriver} ${name}`}>
                <button
                  type="button"
                  className={shared.part}
                  title={
                    without === null ? undefined : t('gantt.without', { without: duration(without), name })
                  }
                  onClick={() => props.onShow(name, phase, isDriver)}
                  data-testid="gantt-path-part"
                >
                  <span
                    className={panels.swatch}
                    style={{ background: name ? look.named(name) : look.line }}
                  />
                  <span className={shared.partName}>
                    <span className={`${words.ellipsis} ${isDriver ? '' : words.name}`}>
                      {isDriver ? t('task.driver') : name || t('gantt.noFunction')}
                    </span>
                    <span className={`${words.ellipsis} ${words.dim}`}>{phaseName(phase)}</span>
                  </span>
                  <span className={`${shared.partTime} ${words.num}`}>
                    {duration(total)}
                    <span className={words.dim}>{percent(total / Math.max(1, path.duration_ns))}%</span>
                  </span>
                  <span
                    className={shared.partBar}
                    style={{ width: `${(total / Math.max(1, path.duration_ns)) * 100}%` }}
                  />
                </button>
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}
