import { useTranslation } from 'react-i18next';
import type { InsightsAnswer } from '../../api/schema';
import { duration, percent, shortId } from '../../base/format';
import { useFindingTexts } from './useFindingTexts';
import { useRange } from './useRange';

type Actor = NonNullable<NonNullable<InsightsAnswer['verdict']>['actor']>;

/** `pid 123 @ host`, or the actor's id. */
function placeOf(actor: Actor): string {
  if (actor.pid === null) return shortId(actor.actor_id);
  return `pid ${actor.pid}${actor.host ? ` @ ${actor.host}` : ''}`;
}

/** A sentence about a job's bottleneck and one about the best remedy; null if the job has no verdict. */
export function useVerdict(insights: InsightsAnswer): { bound: string; remedy: string | null } | null {
  const { t } = useTranslation();
  const texts = useFindingTexts();
  const range = useRange();
  const { verdict, calibration, findings, functions } = insights;
  if (verdict === null) return null;
  const whole = calibration.recorded_ns;
  const { actor } = verdict;
  // Several actors share the time, so the sentence only says that most of it was spent in this one.
  const isSpread = actor !== null && actor.actors > 1 && actor.total_ns < verdict.total_ns;
  const on = actor && (isSpread ? t('insights.mostOn', { place: placeOf(actor) }) : placeOf(actor));
  const bound = t(`insights.verdict.${verdict.code}`, {
    name: `${verdict.name || t('insights.aTask')}${on ? ` (${on})` : ''}`,
    took: duration(verdict.total_ns),
    whole: duration(whole),
  });
  const { remedy, remedy_name: name, remedy_place: place, saving_ns: saving } = verdict;
  if (remedy === null || name === null) return { bound, remedy: null };
  const finding = findings.find((one) => one.kind === name && texts.place(one) === place);
  const title = texts.title(name, finding?.title);
  if (saving === null) {
    if (finding === undefined) return { bound, remedy: null };
    const cost = { cost: duration(finding.cost_ns), share: percent(finding.cost_ns / Math.max(1, whole)) };
    return {
      bound,
      remedy: place
        ? t('insights.remedy.cost', { title, place, ...cost })
        : t('insights.remedy.costOfJob', { title, ...cost }),
    };
  }
  const { saving_low_ns: low, saving_high_ns: high } = verdict;
  const gain = {
    saving: duration(saving),
    share: percent(saving / Math.max(1, whole)),
    range: range(low ?? saving, high ?? saving),
  };
  if (remedy === 'option')
    return {
      bound,
      remedy: t('insights.remedy.option', { name: t(`insights.option.${name as 'no_startup'}`), ...gain }),
    };
  if (remedy === 'function') {
    const isDriver = functions.some((one) => one.function === name && one.is_driver);
    const text = t('insights.remedy.function', { name: isDriver ? t('insights.theDriver') : name, ...gain });
    return { bound, remedy: text };
  }
  return {
    bound,
    remedy: place
      ? t('insights.remedy.finding', { title, place, ...gain })
      : t('insights.remedy.findingOfJob', { title, ...gain }),
  };
}
