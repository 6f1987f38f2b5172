import type { ReactNode } from 'react';
import { bytes } from '../base/format';
import type { Tone } from '../base/tokens';
import { Dash } from './Dash';
import css from './Meter.module.css';
import words from './theme/words.module.css';

/** Percentage at or above which a meter has the warning tone. */
const WARN = 75;
/** Percentage from which a meter has the critical tone. */
const CRITICAL = 90;

export function toneOf(percent: number): Tone {
  return percent >= CRITICAL ? 'bad' : percent >= WARN ? 'waiting' : 'busy';
}

/** `6.7%`; values from 10 on have no decimals: `61%`. */
export function percentText(value: number | null | undefined): string {
  if (value === null || value === undefined || value < 0) return '–';
  return `${value.toFixed(value < 9.95 && value > 0 ? 1 : 0)}%`;
}

/** `1.5 MiB/s`. */
export function rateText(value: number | null | undefined): string {
  return value === null || value === undefined ? '–' : `${bytes(Math.round(value))}/s`;
}

/** A share as a bar and as a number. Outdated values are pale. */
export function Meter(props: {
  percent: number | null | undefined;
  old?: boolean;
  title?: string;
  /** Text after the percentage. */
  text?: ReactNode;
}) {
  const { percent } = props;
  if (percent === null || percent === undefined || percent < 0) return <Dash />;
  return (
    <span className={css.meter} data-old={props.old || undefined} title={props.title}>
      <span className={css.bar} aria-hidden>
        <span
          style={{
            width: `${Math.min(100, percent)}%`,
            background: `var(--rs-tone-${toneOf(percent)})`,
          }}
        />
      </span>
      <span className={`${words.num} ${css.number}`}>{percentText(percent)}</span>
      {props.text !== undefined && (
        <span className={`${words.num} ${words.dim} ${words.ellipsis}`}>{props.text}</span>
      )}
    </span>
  );
}

/** `1.6 GiB of 23.5 GiB`, for the title of a meter. */
export function ofText(
  used: number | null | undefined,
  total: number | null | undefined,
): string | undefined {
  return used === null || used === undefined || total === null || total === undefined
    ? undefined
    : `${bytes(used)} / ${bytes(total)}`;
}
