import { useTranslation } from 'react-i18next';
import type { TrainRunAnswer } from '../../api/schema';
import { duration, elapsedNs, headline } from '../../base/format';
import { ItemState } from '../../ui/ItemState';
import words from '../../ui/theme/words.module.css';
import css from './train.module.css';

const TONES: Record<string, string> = { FINISHED: 'good', RUNNING: 'busy', ERRORED: 'bad', ABORTED: 'bad' };

/** The attempts of a run on one time scale, each with its error. A click chooses one. */
export function AttemptLane({ run, onChoose }: { run: TrainRunAnswer; onChoose: (id: string) => void }) {
  const { t } = useTranslation();
  const now = Date.now() * 1e6;
  const begin = run.start_ns ?? run.attempts[0]?.start_ns ?? 0;
  const end = run.end_ns ?? Math.max(now, ...run.attempts.map((one) => one.end_ns ?? 0));
  const whole = Math.max(1, end - begin);
  const percentAt = (ns: number) => (100 * Math.min(Math.max(0, ns - begin), whole)) / whole;
  return (
    <div className={css.attempts} data-testid="train-attempts">
      {run.attempts.map((attempt, at) => {
        const left = percentAt(attempt.start_ns ?? begin);
        const width = Math.max(0.4, percentAt(attempt.end_ns ?? end) - left);
        const name = t('train.attempt', { n: at + 1 });
        return (
          <div key={attempt.attempt_id} className={css.attempt}>
            <button
              type="button"
              className={css.choose}
              aria-pressed={attempt.attempt_id === run.attempt_id}
              data-testid="train-attempt"
              onClick={() => onChoose(attempt.attempt_id)}
            >
              {name}
            </button>
            <ItemState state={attempt.state} />
            <div className={css.track}>
              <div
                className={css.bar}
                title={`${name}: ${duration(elapsedNs(attempt))}`}
                style={{
                  left: `${left}%`,
                  width: `${width}%`,
                  background: `var(--rs-tone-${TONES[attempt.state ?? ''] ?? 'waiting'})`,
                }}
              />
            </div>
            <span className={`${words.num} ${words.dim}`}>{duration(elapsedNs(attempt))}</span>
            {attempt.status_detail !== null && (
              <details className={css.error}>
                <summary>{headline(attempt.status_detail)}</summary>
                <pre>{attempt.status_detail}</pre>
              </details>
            )}
          </div>
        );
      })}
    </div>
  );
}
