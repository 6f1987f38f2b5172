import { useTranslation } from 'react-i18next';
import type { TuneExperimentItem } from '../../api/schema';
import { count } from '../../base/format';
import type { Tone } from '../../base/tokens';
import bar from '../../ui/StackedBar.module.css';
import words from '../../ui/theme/words.module.css';
import { useItemStateName } from '../../ui/useStateName';
import css from './tune.module.css';

/** States of trials in drawing order, ended ones first. */
const TONES: [string, Tone][] = [
  ['TERMINATED', 'good'],
  ['ERROR', 'bad'],
  ['CUT_OFF', 'quiet'],
  ['RUNNING', 'busy'],
  ['PAUSED', 'waiting'],
  ['PENDING', 'waiting'],
];

/**
 * An experiment's trials by state as a slim bar, and how many have ended. The bar is empty where trials have
 * not been sampled yet.
 */
export function TrialBar({ of }: { of: TuneExperimentItem }) {
  const { t } = useTranslation();
  const name = useItemStateName();
  const all = Math.max(of.trial_count, of.num_samples ?? 0);
  const parts = TONES.map(([state, tone]) => ({ state, tone, number: of.trial_states[state] ?? 0 })).filter(
    ({ number }) => number > 0,
  );
  const over = (of.trial_states.TERMINATED ?? 0) + (of.trial_states.ERROR ?? 0);
  const title = parts.map(({ state, number }) => `${name(state)}: ${count(number)}`).join('\n');
  return (
    <span className={css.trialBar}>
      <span className={bar.stack} style={{ height: 6 }} title={title} role="img" aria-label={title}>
        {parts.map(({ state, tone, number }) => (
          <span key={state} style={{ flexGrow: number, background: `var(--rs-tone-${tone})` }} />
        ))}
        {all > of.trial_count && <span style={{ flexGrow: all - of.trial_count }} />}
      </span>
      <span className={words.num}>{t('tune.over', { over: count(over), all: count(all) })}</span>
    </span>
  );
}
