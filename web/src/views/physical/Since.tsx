import { duration } from '../../base/format';
import { Time } from '../../ui/Time';
import words from '../../ui/theme/words.module.css';

/** When something began, and how long before the shown time that was. */
export function Since({ ns, at }: { ns: number; at: number | null }) {
  return (
    <>
      <Time ns={ns} exact />{' '}
      {at !== null && at > ns && <span className={`${words.dim} ${words.num}`}>({duration(at - ns)})</span>}
    </>
  );
}
