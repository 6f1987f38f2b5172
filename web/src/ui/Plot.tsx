import type { ReactNode } from 'react';
import { short } from '../base/format';
import css from './Plot.module.css';
import words from './theme/words.module.css';

/** Space above the highest and below the lowest value, px. */
const PADDING = 4;

/**
 * The minimum and maximum of the values, and a function that maps a value to its y coordinate in a plot of
 * this height.
 */
export function rangeOf(values: readonly number[], height: number) {
  const least = Math.min(...values);
  const most = Math.max(...values);
  const y = (value: number) =>
    most === least ? height / 2 : PADDING + ((most - value) * (height - 2 * PADDING)) / (most - least);
  return { least, most, y };
}

/**
 * Lines without axes. The range of the values is shown at the left, and the `ends` of the horizontal scale
 * below.
 */
export function Plot(props: {
  range: { least: number; most: number };
  width: number;
  height: number;
  label: string;
  ends: readonly string[];
  children: ReactNode;
  testId?: string;
}) {
  const { width, height } = props;
  const { least, most } = props.range;
  return (
    <div className={css.plot}>
      <span className={`${css.scaleY} ${words.num} ${words.dim}`} data-flat={most === least || undefined}>
        {most >= least && <span>{short(most)}</span>}
        {most > least && <span>{short(least)}</span>}
      </span>
      <svg
        viewBox={`0 0 ${width} ${height}`}
        height={height}
        preserveAspectRatio="none"
        role="img"
        aria-label={props.label}
        data-testid={props.testId}
      >
        {props.children}
      </svg>
      <span className={`${css.scaleX} ${words.num} ${words.dim}`}>
        {props.ends.map((end) => (
          <span key={end}>{end}</span>
        ))}
      </span>
    </div>
  );
}
