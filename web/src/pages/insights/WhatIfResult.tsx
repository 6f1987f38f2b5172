import { useTranslation } from 'react-i18next';
import type { WhatIfAnswer } from '../../api/schema';
import { duration, percent } from '../../base/format';
import { useRange } from '../../ui/insights/useRange';
import { ShareBar } from '../../ui/ShareBar';
import words from '../../ui/theme/words.module.css';
import { NewPath } from './NewPath';
import css from './WhatIfResult.module.css';

/** Savings below this share of the duration are shown as no change. */
const MIN_SAVING = 0.001;

/** The predicted duration with the changes, next to the recorded one. */
export function WhatIfResult({ answer, outdated }: { answer: WhatIfAnswer; outdated: boolean }) {
  const { t } = useTranslation();
  const range = useRange();
  const { baseline_ns: before, predicted_ns, saving_ns, speedup, utilisation, utilisation_before } = answer;
  const after = predicted_ns ?? before;
  const saving = saving_ns ?? 0;
  const [low, high] = [answer.saving_low_ns ?? saving, answer.saving_high_ns ?? saving];
  const most = Math.max(1, before, after);
  const share = Math.abs(saving) / Math.max(1, before);
  const times = (speedup ?? 1).toFixed(2);
  const text =
    share < MIN_SAVING
      ? t('insights.whatif.same')
      : t(saving > 0 ? 'insights.whatif.saves' : 'insights.whatif.costs', {
          times,
          time: duration(Math.abs(saving)),
          share: percent(share),
          range: saving > 0 ? range(low, high) : range(-high, -low),
        });
  return (
    <div className={css.result} data-outdated={outdated || undefined} data-testid="whatif-result">
      <p className={css.said} data-tone={share < MIN_SAVING ? undefined : saving > 0 ? 'good' : 'bad'}>
        {text}
      </p>
      <dl className={css.bars}>
        <Bar name={t('insights.whatif.before')} ns={before} most={most} color="var(--rs-tone-quiet)" />
        <Bar name={t('insights.whatif.after')} ns={after} most={most} color="var(--rs-tone-busy)" />
      </dl>
      {utilisation !== null && utilisation_before !== null && (
        <p className={words.dim}>
          {t('insights.whatif.utilisation', {
            before: percent(utilisation_before),
            after: percent(utilisation),
          })}
        </p>
      )}
      <NewPath answer={answer} />
    </div>
  );
}

function Bar({ name, ns, most, color }: { name: string; ns: number; most: number; color: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <ShareBar share={ns / most} color={color} />
        <span className={`${words.num} ${css.time}`}>{duration(ns)}</span>
      </dd>
    </div>
  );
}
