import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { get } from '../../api/client';
import { refreshInterval } from '../../api/connection';
import type { ClusterEvent } from '../../api/jobs';
import type { NodeDetail } from '../../api/nodes';
import { useSessionInterval } from '../../api/queries';
import type { Page } from '../../api/types';
import { count } from '../../base/format';
import { toView } from '../../base/url';
import { Section } from '../../ui/Drawer';
import { ErrorPanel } from '../../ui/ErrorPanel';
import { inShort } from '../../ui/eventPlace';
import { Link } from '../../ui/Link';
import { Time } from '../../ui/Time';
import { useSessionUrl } from '../../ui/useUrl';
import css from './NodeEvents.module.css';

const SHOWN = 50;

/** What happened on a node, newest first. */
export function NodeEvents({ node }: { node: NodeDetail }) {
  const [url] = useSessionUrl();
  const { t, i18n } = useTranslation();
  const interval = useSessionInterval(url.session);
  const query = useQuery({
    queryKey: ['node-events', url.session, node.node_id],
    queryFn: ({ signal }) =>
      get<Page<ClusterEvent>>(
        '/events',
        { session: url.session, node_id: node.node_id, limit: SHOWN },
        signal,
      ),
    refetchInterval: () => refreshInterval(interval),
  });
  const name = (event: string) =>
    i18n.exists(`events.event.${event}`) ? t(`events.event.${event}` as 'events.event.NODE_DEAD') : event;
  if (query.error !== null && query.data === undefined) return <ErrorPanel error={query.error} />;
  return (
    <Section
      title={t('nodes.events')}
      right={<Link to={toView(url, 'events', { node_id: node.node_id })}>{t('nodes.allEvents')}</Link>}
      testId="node-events"
    >
      {query.data?.items.length === 0 && <p className="rs-dim">{t('nodes.noEvents')}</p>}
      <ul className={`rs-plain ${css.events}`}>
        {query.data?.items.map((event) => (
          <li key={`${event.time_ns} ${event.event} ${event.id}`}>
            <Time ns={event.time_ns} exact />
            <span
              className="rs-dot"
              style={{
                background: `var(--rs-tone-${{ ERROR: 'bad', WARNING: 'waiting', INFO: 'quiet' }[event.severity]})`,
              }}
            />
            <span className="rs-break">
              {name(event.event)} <b>{event.title}</b>
              {event.count > 1 && <span className="rs-num"> × {count(event.count)}</span>}
              {event.message && <span className="rs-dim"> {inShort(event)}</span>}
            </span>
          </li>
        ))}
      </ul>
    </Section>
  );
}
