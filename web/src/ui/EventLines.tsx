import type { ClusterEvent } from '../api/jobs';
import { useAnswer } from '../api/queries';
import type { Ns } from '../api/types';
import { count } from '../base/format';
import { useEventText } from './DeathCause';
import { Dot } from './Dot';
import css from './EventLines.module.css';
import { SEVERITY_TONES } from './eventPlace';
import { Time } from './Time';
import words from './theme/words.module.css';
import { useEventName } from './useStateName';
import { useSessionUrl } from './useUrl';

/** Events, one below another. */
export function EventLines({ events }: { events: readonly ClusterEvent[] }) {
  const name = useEventName();
  const eventText = useEventText();
  return (
    <ul className={css.events}>
      {events.map((event) => (
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
  );
}

const SHOWN = 20;

/** The newest events of Kubernetes in a time range (without an end: until now), on one node if it is given. */
export function usePlatformEvents(since: Ns | null, until: Ns | null, node?: string | null): ClusterEvent[] {
  const [url] = useSessionUrl();
  const query = useAnswer('/events', {
    session: url.session,
    kind: 'platform',
    limit: SHOWN,
    ...(node ? { node_id: node } : {}),
    ...(since === null ? {} : { since_ns: since }),
    ...(until === null ? {} : { until_ns: until }),
  });
  return query.data?.items ?? [];
}
