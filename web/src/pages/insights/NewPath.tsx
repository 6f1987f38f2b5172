import { useTranslation } from 'react-i18next';
import type { WhatIfAnswer } from '../../api/schema';
import { duration, percent } from '../../base/format';
import { usePalette } from '../../ui/canvas';
import { Link } from '../../ui/Link';
import { ShareBar } from '../../ui/ShareBar';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import css from './NewPath.module.css';

/** Number of functions on the path that are listed. */
const SHOWN = 8;
/** Number of ticks on the axis, not counting its start. */
const TICKS = 4;

/** The critical path of the replay: its parts in order of time, and the time by function. */
export function NewPath({ answer }: { answer: WhatIfAnswer }) {
  const { t } = useTranslation();
  const look = usePalette();
  const [url] = useSessionUrl();
  const { path, functions, predicted_ns: predicted, calibration } = answer;
  if (path.length === 0 || predicted === null) return null;
  // Converts replayed time to recorded time.
  const scale = calibration.recorded_ns / Math.max(1, calibration.replayed_ns ?? calibration.recorded_ns);
  const whole = Math.max(1, predicted);
  const coverage = Math.min(1, path.reduce((sum, one) => sum + one.duration_ns * scale, 0) / whole);
  const at = (ns: number) => `${Math.min(100, (100 * ns * scale) / whole)}%`;
  const nameOf = (of: { function: string; is_driver: boolean }) =>
    of.is_driver ? t('task.driver') : of.function;
  return (
    <section className={css.path} aria-label={t('insights.whatif.path')} data-testid="whatif-path">
      <h3>{t('insights.whatif.path')}</h3>
      <p className={words.dim}>
        {t('insights.whatif.pathHint', { n: path.length, share: percent(coverage) })}
      </p>
      <div className={css.axis}>
        {path.map((stretch) => {
          const { begin_ns, duration_ns, phase, task_id: task, attempt } = stretch;
          const title = [
            nameOf(stretch),
            t(`insights.whatif.phase.${phase}`),
            duration(duration_ns * scale),
          ].join('\n');
          const style = {
            left: at(begin_ns),
            width: at(duration_ns),
            background: look.named(stretch.function),
          };
          return (
            <span key={begin_ns} className={css.stretch} style={style} data-phase={phase}>
              {task === null ? (
                <span className={css.way} title={title} />
              ) : (
                <Link
                  to={{ ...url, task, attempt: attempt ?? undefined }}
                  className={css.way}
                  title={title}
                  label={title}
                >
                  {null}
                </Link>
              )}
            </span>
          );
        })}
      </div>
      <div className={`${css.ticks} ${words.num} ${words.dim}`} aria-hidden>
        {Array.from({ length: TICKS + 1 }, (_, tick) => duration((whole * tick) / TICKS)).map((text) => (
          <span key={text}>{text}</span>
        ))}
      </div>
      <ul className={css.functions}>
        {functions.slice(0, SHOWN).map((one) => (
          <li key={`${one.is_driver} ${one.function}`}>
            <span className={css.swatch} style={{ background: look.named(one.function) }} />
            <span className={`${words.ellipsis} ${words.name}`} title={nameOf(one)}>
              {nameOf(one)}
            </span>
            <span className={`${words.ellipsis} ${words.dim}`}>
              {Object.entries(one.by_phase)
                .sort(([, a], [, b]) => b - a)
                .map(
                  ([phase, ns]) =>
                    `${t(`insights.whatif.phase.${phase as 'executing'}`)} ${duration(ns * scale)}`,
                )
                .join(' · ')}
            </span>
            <ShareBar share={one.share} color={look.named(one.function)} />
            <span className={`${words.num} ${css.percent}`}>{percent(one.share)}%</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
