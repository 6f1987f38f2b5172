import { useTranslation } from 'react-i18next';
import { useAnswer } from '../../api/queries';
import type { NodeDetail } from '../../api/schema';
import { count } from '../../base/format';
import { toView } from '../../base/url';
import { useEventText } from '../../ui/DeathCause';
import { Dot } from '../../ui/Dot';
import { Section } from '../../ui/Drawer';
import { ErrorPanel } from '../../ui/ErrorPanel';
import { SEVERITY_TONES } from '../../ui/eventPlace';
import { Link } from '../../ui/Link';
import { Time } from '../../ui/Time';
import words from '../../ui/theme/words.module.css';
import { useEventName } from '../../ui/useStateName';
import { useSessionUrl } from '../../ui/useUrl';
import css from './NodeEvents.module.css';

const SHOWN = 50;

/** Events of a node, newest first. */
export function NodeEvents({ node }: { node: NodeDetail }) {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  const query = useAnswer('/events', { session: url.session, node_id: node.node_id, limit: SHOWN });
  const name = useEventName();
  const eventText = useEventText();
  if (query.error !== null && query.data === undefined) return <ErrorPanel error={query.error} />;
  return (
    <Section
      title={t('nodes.events')}
      right={<Link to={toView(url, 'events', { node_id: node.node_id })}>{t('nodes.allEvents')}</Link>}
      testId="node-events"
    >
      {query.data?.items.length === 0 && <p className={words.dim}>{t('nodes.noEvents')}</p>}
      <ul className={css.events}>
        {query.data?.items.map((event) => (
          <li key={`${event.time_ns} ${event.event} ${event.id}`}>
            <Time ns={event.time_ns} exact />
            <Dot color={`var(--rs-tone-${SEVERITY_TONES[event.severity]})`} />
            <span className={words.breaks}>
              {name(event.event)} <b>{event.title}</b>
              {event.count > 1 && <span className={words.num}> × {count(event.count)}</span>}
              <span className={words.dim}> {eventText(event)}</span>
            </span>
          </li>
        ))}
      </ul>
    </Section>
  );
}
