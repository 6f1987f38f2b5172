import { useTranslation } from 'react-i18next';
import { count } from '../../base/format';
import { toView } from '../../base/url';
import { useEventText } from '../../ui/DeathCause';
import { placeOf, SEVERITY_TONES } from '../../ui/eventPlace';
import { Panel, PanelBody, PanelText } from '../../ui/panels/Panel';
import { MAX_LINES, PanelLine } from '../../ui/panels/PanelLine';
import { useEventName } from '../../ui/useStateName';
import { useSessionUrl } from '../../ui/useUrl';
import { useEvents } from './useOverview';

/** The latest cluster events. */
export function EventsPanel({ live }: { live: boolean }) {
  const { t } = useTranslation();
  const eventName = useEventName();
  const eventText = useEventText();
  const [url] = useSessionUrl();
  const events = useEvents(url.session, live);
  return (
    <Panel
      title={t('overview.events')}
      note={events.data && count(events.data.total)}
      to={toView(url, 'events')}
      testId="panel-events"
    >
      <PanelBody data={events.data} error={events.error}>
        {({ items }) =>
          items.length === 0 ? (
            <PanelText>{t('overview.noEvents')}</PanelText>
          ) : (
            <ul>
              {items.slice(0, MAX_LINES).map((event, at) => (
                <PanelLine
                  // biome-ignore lint/suspicious/noArrayIndexKey: events have no name of their own.
                  key={at}
                  tone={SEVERITY_TONES[event.severity]}
                  ns={event.time_ns}
                  to={placeOf(url, event)}
                  name={eventName(event.event)}
                  text={[event.title, eventText(event)].filter(Boolean).join(' · ')}
                  times={event.count}
                />
              ))}
            </ul>
          )
        }
      </PanelBody>
    </Panel>
  );
}
