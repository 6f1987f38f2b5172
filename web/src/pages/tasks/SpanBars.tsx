import { fullTime, nanosBetween } from '../../base/format';
import { Duration } from '../../ui/Duration';
import words from '../../ui/theme/words.module.css';
import css from './SpanBars.module.css';

interface Bar {
  name: string;
  label: string;
  begin_ns: number;
  end_ns: number;
}

/** Named spans, one below the other, on one time scale. */
export function SpanBars({ bars }: { bars: Bar[] }) {
  const begin = Math.min(...bars.map((bar) => bar.begin_ns));
  const end = Math.max(...bars.map((bar) => bar.end_ns));
  const all = Math.max(1, end - begin);
  return (
    <div className={css.bars}>
      {bars.map((bar, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: spans have no ids; equal ones are one span.
        <div key={at} className={css.barRow} title={`${bar.label}\n${fullTime(bar.begin_ns)}`}>
          <span className={words.ellipsis}>{bar.name}</span>
          <span className={css.barTrack}>
            <span
              className={css.bar}
              style={{
                left: `${(100 * (bar.begin_ns - begin)) / all}%`,
                width: `${(100 * (bar.end_ns - bar.begin_ns)) / all}%`,
              }}
            />
          </span>
          <span className={css.barNumber}>
            <Duration ns={nanosBetween(bar.begin_ns, bar.end_ns)} />
          </span>
        </div>
      ))}
    </div>
  );
}
