import { useHasEnded } from '../../api/queries';
import { busiestTime } from '../../ui/activity/activity';
import { useActivity } from '../../ui/activity/useActivity';
import { useMoment } from './useMoment';

/**
 * The time that a view of one time shows, as `at`: the one that the URL names; else now or, of a session that
 * ended, when most ran, for at its last moment hardly anything does. `isReady`: whether that is known yet.
 */
export function useShownMoment() {
  const { at: named, ...moment } = useMoment();
  const activity = useActivity(moment.url.session, moment.url.filters);
  const ended = useHasEnded(moment.url.session);
  const busiest = ended && activity.data !== undefined ? busiestTime(activity.data) : null;
  return {
    ...moment,
    activity: activity.data,
    at: named ?? (busiest === null ? undefined : String(busiest)),
    isNamed: named !== undefined,
    isReady: named !== undefined || ended === false || (ended === true && !activity.isPending),
  };
}
