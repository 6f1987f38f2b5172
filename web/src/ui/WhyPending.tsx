import { useTranslation } from 'react-i18next';
import type { Pending } from '../api/nodes';
import { useClusterStatus } from '../api/useClusterStatus';
import { toView, withSettings } from '../base/url';
import { Badge } from './Badge';
import { Section } from './Drawer';
import { Link } from './Link';
import { useReasonText } from './useReasonText';
import { useSessionUrl } from './useUrl';
import css from './WhyPending.module.css';

/** Why something has no place yet, as the account of the cluster's resources has it. */
export function WhyPending({ is }: { is: (pending: Pending) => boolean }) {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  const reasonText = useReasonText();
  const status = useClusterStatus(url.session);
  const found = status.data?.pending.find(is);
  if (found === undefined) return null;
  return (
    <Section
      title={t('jobs.pending')}
      testId="item-pending"
      right={
        <Link to={withSettings(toView(url, 'nodes'), { mode: 'resources' })}>{t('jobs.whatThereIs')}</Link>
      }
    >
      <p className={css.itemReason}>
        {reasonText(found.reason)}
        {found.reason.never && <Badge bad>{t('nodes.never')}</Badge>}
      </p>
    </Section>
  );
}
