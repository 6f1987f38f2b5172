import { useTranslation } from 'react-i18next';
import type { InsightsAnswer } from '../../api/schema';
import { count, duration } from '../../base/format';

/** Why nothing is predicted, in the user's language; null if there is a prediction. */
export function useWithheld({
  withheld,
  calibration,
  attempts,
}: Pick<InsightsAnswer, 'withheld' | 'calibration' | 'attempts'>): string | null {
  const { t } = useTranslation();
  if (withheld === null) return null;
  return t(`insights.withheld.${withheld.code}`, {
    recorded: duration(calibration.recorded_ns),
    replayed: duration(calibration.replayed_ns),
    attempts: count(attempts),
  });
}
