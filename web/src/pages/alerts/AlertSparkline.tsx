import { useId } from 'react';
import type { SeverityTone } from '../../ui/alerts/severity';
import css from './AlertSparkline.module.css';

const HEIGHT = 30;

/** A chart of a few series without axes, with the threshold as a dashed line. */
export function AlertSparkline(props: {
  series: readonly (readonly (number | null)[])[];
  threshold: number | null;
  /** A description for screen readers. */
  label: string;
  /** The colour of the alert's severity, if it is firing. */
  tone?: SeverityTone;
  width?: number;
}) {
  const { series, threshold, label, tone, width = 150 } = props;
  const id = useId();
  const known = series.flat().filter((value): value is number => value !== null);
  const all = threshold === null ? known : [...known, threshold];
  const min = Math.min(0, ...all);
  const max = Math.max(...all, min + 1e-9);
  const y = (value: number) => HEIGHT - 2 - ((value - min) * (HEIGHT - 4)) / (max - min);
  return (
    <svg
      className={css.sparkline}
      data-testid="alert-course"
      viewBox={`0 0 ${width} ${HEIGHT}`}
      width={width}
      height={HEIGHT}
      preserveAspectRatio="none"
      role="img"
      aria-labelledby={id}
      data-tone={tone}
    >
      <title id={id}>{label}</title>
      {series.map((values, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: series have no other identity here
        <path key={at} d={line(values, width, y)} fill="none" vectorEffect="non-scaling-stroke" />
      ))}
      {threshold !== null && (
        <line
          x1={0}
          x2={width}
          y1={y(threshold)}
          y2={y(threshold)}
          className={css.threshold}
          vectorEffect="non-scaling-stroke"
        />
      )}
    </svg>
  );
}

function line(values: readonly (number | null)[], width: number, y: (value: number) => number): string {
  let path = '';
  let pen = false;
  values.forEach((value, at) => {
    if (value === null) {
      pen = false;
      return;
    }
    const x = values.length < 2 ? width / 2 : (at * width) / (values.length - 1);
    path += `${pen ? 'L' : 'M'}${x.toFixed(1)},${y(value).toFixed(1)}`;
    if (!pen && values[at + 1] == null) path += `h1`; // a single sample is drawn as a dot
    pen = true;
  });
  return path;
}
