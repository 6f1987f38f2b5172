import { clockTime, fullTime, type Nanos, time } from '../base/format';
import words from './theme/words.module.css';

/**
 * A time of day in the chosen time zone, with date and zone on hover. `exact` shows milliseconds (for
 * times of one task next to each other), `full` also shows the date and the zone.
 */
export function Time({ ns, exact, full }: { ns: Nanos; exact?: boolean; full?: boolean }) {
  return (
    <span className={words.num} title={fullTime(ns) || undefined}>
      {full ? fullTime(ns) || '–' : exact ? clockTime(ns) : time(ns)}
    </span>
  );
}
