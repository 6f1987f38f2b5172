import { duration } from '../../base/format';
import { Time } from '../../ui/Time';

/** When something began, and how long that was before the time that is looked at. */
export function Since({ ns, at }: { ns: number; at: number | null }) {
  return (
    <>
      <Time ns={ns} exact />{' '}
      {at !== null && at > ns && <span className="rs-dim rs-num">({duration(at - ns)})</span>}
    </>
  );
}
