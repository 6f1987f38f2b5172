import type { TFunction } from 'i18next';
import type { CompareAnswer } from '../../api/schema';
import { changeText } from '../../base/format';

const marginText = (share: number) => `${Number((100 * share).toPrecision(2))}%`;

/** The verdict on the durations, and what would help if the runs do not decide it. */
export function verdictTexts({ duration }: CompareAnswer, t: TFunction): { verdict: string; help?: string } {
  const { verdict, ratio, more_runs: n, spread } = duration;
  const sentence = t(`compare.verdict.${verdict}`, { change: changeText(ratio) });
  if (verdict !== 'cannot_tell') return { verdict: sentence };
  const margin = marginText(duration.margin);
  if (n !== null) return { verdict: sentence, help: t('compare.help.moreRuns', { n, margin }) };
  return { verdict: sentence, help: t(`compare.help.${spread === null ? 'oneRun' : 'varies'}`, { margin }) };
}
