import { useTranslation } from 'react-i18next';
import type { InsightsAnswer } from '../../api/schema';
import { toItem } from '../../base/url';
import { Link } from '../Link';
import words from '../theme/words.module.css';
import { useSessionUrl } from '../useUrl';

/** Links to the actor that the verdict names. */
export function VerdictActor({ insights }: { insights: InsightsAnswer }) {
  const { t } = useTranslation();
  const [url] = useSessionUrl();
  const actor = insights.verdict?.actor ?? null;
  if (actor === null) return null;
  return (
    <Link
      to={toItem(url, 'actors', actor.actor_id)}
      className={`${words.link} ${words.inText}`}
      testId="verdict-actor"
    >
      {t('insights.theActor')}
    </Link>
  );
}
