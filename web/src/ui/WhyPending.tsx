import { useTranslation } from 'react-i18next';
import type { PendingHolder, PendingItem } from '../api/schema';
import type { Ns } from '../api/types';
import { useClusterStatus } from '../api/useClusterStatus';
import { amount, count, shortId } from '../base/format';
import { type SessionUrl, toItem, toView, type Url, withSettings } from '../base/url';
import { Badge } from './Badge';
import { Section } from './Drawer';
import { Link } from './Link';
import { MiniList } from './MiniList';
import { Time } from './Time';
import layout from './theme/layout.module.css';
import words from './theme/words.module.css';
import { useReasonText, useRemedyText } from './useReasonText';
import { useSessionUrl } from './useUrl';
import css from './WhyPending.module.css';

/**
 * Why something is pending according to the cluster's resources: since when, what would let it run, and what
 * holds the scarce resources. `since` is when this entity began to wait, if several similar ones form one
 * entry.
 */
export function WhyPending({ is, since }: { is: (pending: PendingItem) => boolean; since?: Ns | null }) {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  const reasonText = useReasonText();
  const remedyText = useRemedyText();
  const status = useClusterStatus(url.session);
  const found = status.data?.pending.find(is);
  if (found === undefined) return null;
  const sinceNs = since ?? found.since_ns;
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
      <p className={css.itemReason} data-testid="pending-remedy">
        {remedyText(found.reason)}
        {sinceNs !== null && (
          <span className={words.dim}>
            {t('nodes.waitsSince')} <Time ns={sinceNs} />
          </span>
        )}
      </p>
      {found.holders.length > 0 && <Holders pending={found} />}
    </Section>
  );
}

/** The largest holders of the scarce resources. */
function Holders({ pending }: { pending: PendingItem }) {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  const resource = pending.reason.resource ?? '';
  return (
    <>
      <h4 className={css.heldBy}>{t('nodes.heldBy', { resource })}</h4>
      <MiniList>
        {pending.holders.map((one) => (
          <Link
            key={`${one.kind} ${one.id} ${one.attempt}`}
            to={holderLink(url, one)}
            className={`${layout.row} ${css.holder}`}
            testId="pending-holder"
          >
            <span className={words.ellipsis} title={one.name || one.id}>
              {one.name || shortId(one.id)}{' '}
              <span className={words.dim}>{t(`nodes.holderKinds.${one.kind}`)}</span>
            </span>
            <span className={words.num}>{amount(resource, one.amount)}</span>
            <span className={words.num}>{one.since_ns !== null && <Time ns={one.since_ns} />}</span>
          </Link>
        ))}
      </MiniList>
      {pending.holders_left_out > 0 && (
        <p className={words.dim}>{t('nodes.moreHolders', { n: count(pending.holders_left_out) })}</p>
      )}
    </>
  );
}

function holderLink(url: SessionUrl, one: PendingHolder): Url {
  if (one.kind === 'task') return { ...url, task: one.id, attempt: one.attempt ?? undefined };
  return toItem(url, one.kind === 'actor' ? 'actors' : 'placement-groups', one.id);
}
