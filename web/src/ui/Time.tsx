import { clockTime, fullTime, type Nanos, time } from '../base/format';
import words from './theme/words.module.css';

/**
 * A time of day in the browser's zone; the whole with the zone on hover. `exact` shows milliseconds (where
 * times of one task stand together), `full` the date and the zone too.
 */
export function Time({ ns, exact, full }: { ns: Nanos; exact?: boolean; full?: boolean }) {
  return (
    <span className={words.num} title={fullTime(ns) || undefined}>
      {full ? fullTime(ns) || '–' : exact ? clockTime(ns) : time(ns)}
    </span>
  );
}
