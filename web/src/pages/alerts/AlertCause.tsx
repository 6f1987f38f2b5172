import { useTranslation } from 'react-i18next';
import { useAnswer } from '../../api/queries';
import type { Death, DeathSubject } from '../../api/schema';
import { useCauseText, VIEWS } from '../../ui/DeathCause';
import { ItemLink } from '../../ui/ItemLink';
import { Time } from '../../ui/Time';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';

/** Number of deaths among which one is sought that was not meant to happen. */
const LOOKED_AT = 20;

/** Why the node of an alert died, or why a worker of its actors died last. Hidden if none did. */
export function AlertCause({ labels }: { labels: Record<string, string> }) {
  const { node_id: id, class_name } = labels;
  if (id) return <LastDeath kind="node" id={id} />;
  return class_name ? <LastDeath kind="worker" class_name={class_name} /> : null;
}

function LastDeath(query: { kind: DeathSubject['kind']; id?: string; class_name?: string }) {
  const [url] = useSessionUrl();
  const deaths = useAnswer('/deaths', { ...query, limit: LOOKED_AT, session: url.session }).data?.items;
  const death = deaths?.find((one) => !one.is_expected);
  return death === undefined ? null : <Line death={death} />;
}

function Line({ death }: { death: Death }) {
  const { t } = useTranslation();
  const text = useCauseText()(death.chain);
  return (
    <p className={`${words.line} ${words.breaks}`} data-testid="alert-cause">
      <b>{t('alerts.lastDeath')}</b> {death.end_ns !== null && <Time ns={death.end_ns} exact />} {text}{' '}
      <ItemLink view={VIEWS[death.kind]} id={death.id} />
    </p>
  );
}
