import { duration } from '../../base/format';
import { Time } from '../../ui/Time';

export function Since({ ns, at }: { ns: number; at: number | null }) {
  return (
    <>
      <Time ns={ns} exact />{' '}
      {at !== null && at > ns && <span className="rs-dim rs-num">({duration(at - ns)})</span>}
    </>
  );
}
