import type { TFunction } from 'i18next';
import type { CompareAnswer } from '../../api/schema';

/** A change from A to B by its ratio: `+7.7%`, `−12.0%`, `0.0%`. */
export function changeText(ratio: number): string {
  const percents = (100 * Math.abs(ratio - 1)).toFixed(1);
  if (percents === '0.0') return '0.0%';
  return `${ratio < 1 ? '−' : '+'}${percents}%`;
}

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
