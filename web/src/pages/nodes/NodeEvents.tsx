import { useTranslation } from 'react-i18next';
import { useAnswer } from '../../api/queries';
import type { NodeDetail } from '../../api/schema';
import { toView } from '../../base/url';
import { Section } from '../../ui/Drawer';
import { ErrorPanel } from '../../ui/ErrorPanel';
import { EventLines } from '../../ui/EventLines';
import { Link } from '../../ui/Link';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';

const SHOWN = 50;

/** Events of a node, newest first. */
export function NodeEvents({ node }: { node: NodeDetail }) {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  const query = useAnswer('/events', { session: url.session, node_id: node.node_id, limit: SHOWN });
  if (query.error !== null && query.data === undefined) return <ErrorPanel error={query.error} />;
  return (
    <Section
      title={t('nodes.events')}
      right={<Link to={toView(url, 'events', { node_id: node.node_id })}>{t('nodes.allEvents')}</Link>}
      testId="node-events"
    >
      {query.data?.items.length === 0 && <p className={words.dim}>{t('nodes.noEvents')}</p>}
      <EventLines events={query.data?.items ?? []} />
    </Section>
  );
}
