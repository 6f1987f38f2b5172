import type { TFunction } from 'i18next';
import { useTranslation } from 'react-i18next';
import type { FindingItem } from '../../api/schema';
import { duration, percent } from '../../base/format';
import { numberText, plainName } from './findings';
import { useRange } from './useRange';

/** Whether code is the user's own or of unknown origin. */
export const isOwn = (origin: string | null) => origin === null || origin === 'user';

/** The texts of findings in the user's language. A kind without a translation keeps the server's texts. */
export function useFindingTexts() {
  const { t, i18n } = useTranslation();
  const range = useRange();
  const translate = t as TFunction<'translation', undefined> as (key: string, values: object) => string;
  const hasText = (key: string) => i18n.exists(`insights.${key}`);
  const title = (kind: string, english?: string) =>
    hasText(`kinds.${kind}.title`)
      ? translate(`insights.kinds.${kind}.title`, {})
      : (english ?? plainName(kind));
  /** The function or class of a finding; empty if it concerns the whole job. */
  const place = (finding: Pick<FindingItem, 'function' | 'actor_class'>) =>
    finding.function ?? finding.actor_class ?? '';
  return {
    title,
    place,
    advice: (finding: FindingItem) => {
      const key = `kinds.${finding.kind}.advice`;
      if (!hasText(key)) return finding.advice;
      const { function: name, actor_class, caller, origin } = finding;
      const numbers = Object.entries(finding.numbers).map(([of, value]) => [of, numberText(of, value)]);
      const own = translate(`insights.${key}`, {
        function: name,
        actor_class,
        caller,
        ...Object.fromEntries(numbers),
      });
      return isOwn(origin) ? own : `${own}${t('insights.ofLibrary', { library: origin ?? '' })}`;
    },
    number: (name: string) =>
      hasText(`numbers.${name}`) ? translate(`insights.numbers.${name}`, {}) : plainName(name),
    /** The saving or the cost of a finding. Without the range if `isBrief`. */
    gain: (finding: FindingItem, isBrief = false) => {
      const { is_risk, on_path_ns, saving_ns, saving_low_ns: low, saving_high_ns: high, share } = finding;
      return is_risk
        ? t(on_path_ns === 0 ? 'insights.findings.free' : 'insights.findings.risk')
        : saving_ns === null || low === null || high === null
          ? t('insights.findings.costs', { time: duration(finding.cost_ns), share: percent(share) })
          : t(isBrief ? 'insights.findings.savesAbout' : 'insights.findings.saves', {
              time: duration(saving_ns),
              share: percent(share),
              range: range(low, high),
            });
    },
  };
}
