import { useTranslation } from 'react-i18next';
import type { Amounts } from '../../api/nodes';
import type { PendingItem, ResourceHolder, StatusAnswer } from '../../api/schema';
import { useClusterStatus } from '../../api/useClusterStatus';
import { amount, count, shapeText } from '../../base/format';
import { hasTypeName } from '../../base/nodeTitle';
import { total } from '../../base/progress';
import { Badge } from '../../ui/Badge';
import { Section } from '../../ui/Drawer';
import { ErrorPanel } from '../../ui/ErrorPanel';
import { ItemLink } from '../../ui/ItemLink';
import { Meter } from '../../ui/Meter';
import { ServerMessageLine } from '../../ui/ServerMessageLine';
import { Time } from '../../ui/Time';
import layout from '../../ui/theme/layout.module.css';
import words from '../../ui/theme/words.module.css';
import { useReasonText } from '../../ui/useReasonText';
import { useSessionUrl } from '../../ui/useUrl';
import css from './ClusterResources.module.css';
import shared from './nodes.module.css';

/** Cluster resources, their holders, pending demand with reasons, and the autoscaler. */
export function ClusterResources() {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  const query = useClusterStatus(url.session);
  const { data } = query;
  if (query.error !== null && data === undefined)
    return <ErrorPanel error={query.error} onRetry={() => void query.refetch()} />;
  if (data === undefined) return <div className={layout.scroll} aria-busy="true" />;
  return (
    <div className={layout.scroll} data-testid="cluster-resources">
      {data.error !== null && (
        <p className={css.error}>
          <ServerMessageLine of={data} />
        </p>
      )}
      {!data.live && data.time_ns === null ? (
        <p className={`${words.dim} ${css.error}`}>{t('nodes.notLive')}</p>
      ) : (
        <div className={css.grid}>
          <Section title={t('nodes.pending')} testId="cluster-pending">
            <PendingList status={data} />
          </Section>
          <div>
            <Section title={t('nodes.resources')}>
              <AmountTable amounts={data.resources} />
            </Section>
            <Section title={t('nodes.byWhom')}>
              <Holders by={data.by} />
            </Section>
            <Section title={t('nodes.autoscaler')}>
              <Autoscaler status={data} />
            </Section>
          </div>
        </div>
      )}
    </div>
  );
}

/** Pending demand. Infeasible entries come first. */
function PendingList({ status }: { status: StatusAnswer }) {
  const { t } = useTranslation();
  const reasonText = useReasonText();
  if (status.pending.length === 0) return <p className={words.dim}>{t('nodes.nothingPending')}</p>;
  return (
    <>
      <ul className={css.pending}>
        {status.pending.map((one) => (
          <li
            key={`${one.kind} ${one.name} ${one.id} ${JSON.stringify(one.resources)} ${one.job_id}`}
            data-testid="pending-item"
          >
            <div className={css.pendingHead}>
              <b className={words.ellipsis}>{one.name || one.id?.slice(0, 12) || '–'}</b>
              <span className={words.dim}>{t(`nodes.holderKinds.${one.kind}`)}</span>
              {one.count > 1 && <span className={words.num}>× {count(one.count)}</span>}
              {one.reason.never && <Badge bad>{t('nodes.never')}</Badge>}
              <PendingLink one={one} />
            </div>
            <div>{reasonText(one.reason)}</div>
            <div className={words.dim}>
              {t('nodes.waitsFor')} {shapeText(one.resources)}
              {one.bundles !== null &&
                ` (${t('nodes.bundlesOf', { n: count(one.bundles.length), strategy: one.strategy ?? '' })})`}
              {one.since_ns !== null && (
                <>
                  {' · '}
                  <Time ns={one.since_ns} />
                </>
              )}
            </div>
          </li>
        ))}
      </ul>
      {status.pending_left_out > 0 && (
        <p className={words.dim}>{t('nodes.pendingLeftOut', { n: count(status.pending_left_out) })}</p>
      )}
    </>
  );
}

function PendingLink({ one }: { one: PendingItem }) {
  if (one.id === null) return null;
  return <ItemLink view={one.kind === 'actor' ? 'actors' : 'placement-groups'} id={one.id} />;
}

/** Each resource with its used and total amount. */
export function AmountTable({ amounts }: { amounts: Amounts }) {
  const { t } = useTranslation();
  const rank = (name: string) => ['CPU', 'GPU', 'memory', 'object_store_memory'].indexOf(name) + 1 || 9;
  const names = Object.keys(amounts).sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
  return (
    <table className={shared.amounts} data-testid="amounts">
      <thead>
        <tr>
          <th>{t('nodes.resource')}</th>
          <th>{t('nodes.used')}</th>
          <th data-align="right">{t('nodes.free')}</th>
          <th data-align="right">{t('nodes.total')}</th>
        </tr>
      </thead>
      <tbody>
        {names.map((name) => {
          const { used = 0, total = 0, available = 0 } = amounts[name] ?? {};
          return (
            <tr key={name}>
              <td className={words.breaks}>{name}</td>
              <td>
                <Meter percent={total > 0 ? (100 * used) / total : null} text={amount(name, used)} />
              </td>
              <td data-align="right" className={words.num}>
                {amount(name, available)}
              </td>
              <td data-align="right" className={words.num}>
                {amount(name, total)}
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

/** The holders of resources, largest first. */
export function Holders({ by }: { by: ResourceHolder[] }) {
  const { t } = useTranslation();
  if (by.length === 0) return <p className={words.dim}>{t('nodes.noHolder')}</p>;
  const list = { actor: 'actors', task: 'workers', placement_group: 'placement-groups' } as const;
  return (
    <table className={shared.amounts} data-testid="holders">
      <tbody>
        {by.map((one) => (
          <tr key={`${one.kind} ${one.name} ${one.id}`}>
            <td className={words.breaks}>
              {one.name || '–'} <span className={words.dim}>{t(`nodes.holderKinds.${one.kind}`)}</span>
            </td>
            <td data-align="right" className={words.num}>
              × {count(one.count)}
            </td>
            <td>{shapeText(one.resources)}</td>
            <td>{one.id !== null && <ItemLink view={list[one.kind]} id={one.id} />}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Autoscaler({ status }: { status: StatusAnswer }) {
  const { t } = useTranslation();
  const { autoscaler } = status;
  if (autoscaler === null) return <p className={words.dim}>{t('nodes.noAutoscaler')}</p>;
  const named = (counts: Record<string, number>) =>
    Object.entries(counts)
      .filter(([type]) => hasTypeName(type))
      .map(([type, many]) => `${type} × ${count(many)}`)
      .join(', ');
  return (
    <table className={shared.amounts} data-testid="autoscaler">
      <tbody>
        {(['active', 'idle', 'pending'] as const).map((kind) => (
          <tr key={kind}>
            <td>
              {t(`nodes.autoscaler${kind === 'active' ? 'Active' : kind === 'idle' ? 'Idle' : 'Pending'}`)}
            </td>
            <td className={words.num}>{count(total(autoscaler[kind]))}</td>
            <td className={`${words.breaks} ${words.dim}`}>{named(autoscaler[kind])}</td>
          </tr>
        ))}
        {autoscaler.failed.map(([type, why]) => (
          <tr key={`${type} ${why}`}>
            <td>{t('nodes.autoscalerFailed')}</td>
            <td />
            <td className={words.breaks}>
              {type}: {why}
            </td>
          </tr>
        ))}
        {autoscaler.infeasible.map((shape) => (
          <tr key={shapeText(shape)}>
            <td>{t('nodes.autoscalerInfeasible')}</td>
            <td />
            <td>{shapeText(shape)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
