import { useHasEnded } from '../../api/queries';
import { momentNear } from '../../base/report';
import { busiestTime } from '../../ui/activity/activity';
import { useActivity } from '../../ui/activity/useActivity';
import { useMoment } from './useMoment';

/**
 * The moment that a view of a single moment shows, as `at`: the one in the URL, otherwise now. For an ended
 * session it is the busiest time, because hardly anything runs at its end. `isReady` is false until the
 * moment is known.
 */
export function useShownMoment() {
  const { at: named, ...moment } = useMoment();
  const activity = useActivity(moment.url.session, moment.url.filters);
  const ended = useHasEnded(moment.url.session);
  const busiest = ended && activity.data !== undefined ? busiestTime(activity.data) : null;
  return {
    ...moment,
    activity: activity.data,
    at: named ?? momentNear(busiest === null ? undefined : String(busiest)),
    isNamed: named !== undefined,
    isReady: named !== undefined || ended === false || (ended === true && !activity.isPending),
  };
}
