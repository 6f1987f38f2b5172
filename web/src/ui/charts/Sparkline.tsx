import { useId } from 'react';

/**
 * The course of a few values without axes; the last one is marked. `values` are equally far apart, null is a
 * gap. The scale begins at 0 unless `least` says otherwise, and ends at `most` or the greatest value.
 */
export function Sparkline(props: {
  values: readonly (number | null)[];
  /** What it shows, for those who do not see it. */
  label: string;
  width?: number;
  height?: number;
  color?: string;
  least?: number;
  most?: number;
}) {
  const { values, label, width = 96, height = 24, color = 'var(--rs-series-0)' } = props;
  const id = useId();
  const known = values.filter((value): value is number => value !== null);
  const least = props.least ?? Math.min(0, ...known);
  const most = Math.max(props.most ?? Number.NEGATIVE_INFINITY, ...known);
  const scale = most > least ? (height - 4) / (most - least) : 0;
  const x = (at: number) => (values.length < 2 ? width / 2 : 2 + (at * (width - 4)) / (values.length - 1));
  const y = (value: number) => height - 2 - (value - least) * scale;
  const pieces: string[] = [];
  let piece: string[] = [];
  const areas: string[] = [];
  const close = (end: number) => {
    if (piece.length > 0) {
      pieces.push(`M${piece.join('L')}`);
      areas.push(`M${x(end - piece.length + 1)},${height - 2}L${piece.join('L')}L${x(end)},${height - 2}Z`);
    }
    piece = [];
  };
  values.forEach((value, at) => {
    if (value === null) close(at - 1);
    else piece.push(`${x(at).toFixed(1)},${y(value).toFixed(1)}`);
  });
  close(values.length - 1);
  const lastAt = values.findLastIndex((value) => value !== null);
  const last = values[lastAt];
  return (
    <svg className="rs-sparkline" width={width} height={height} role="img" aria-labelledby={id}>
      <title id={id}>{label}</title>
      <path d={areas.join('')} fill={color} opacity={0.14} />
      <path d={pieces.join('')} fill="none" stroke={color} strokeWidth={1.4} strokeLinejoin="round" />
      {typeof last === 'number' && <circle cx={x(lastAt)} cy={y(last)} r={2} fill={color} />}
    </svg>
  );
}
