import type { ActivityAnswer } from '../../api/schema';
import { count } from '../../base/format';
import type { Palette, Size } from '../canvas';

export type Activity = ActivityAnswer;
/** Height of the mark of a failure, px. */
const MARK = 6;

/** The index of the bucket that contains a time, or of the nearest bucket if none does. */
export function bucketOf(activity: Activity, ns: number): number {
  if (activity.begin_ns === null || activity.bucket_ns === null) return 0;
  const bucket = Math.floor((ns - activity.begin_ns) / activity.bucket_ns);
  return Math.min(Math.max(bucket, 0), activity.in_flight.length - 1);
}

/** The time in the middle of a bucket, in whole ns. An index out of bounds means the nearest bucket. */
export function timeOf(activity: Activity, bucket: number): number | null {
  if (activity.begin_ns === null || activity.bucket_ns === null) return null;
  const within = Math.min(Math.max(bucket, 0), activity.in_flight.length - 1);
  return Math.round(activity.begin_ns + (within + 0.5) * activity.bucket_ns);
}

/**
 * The middle (ns) of the first bucket with the most running attempts or, if nothing ran, with the most
 * attempts in flight.
 */
export function busiestTime(activity: Activity): number | null {
  const values = activity.running.some((value) => value > 0) ? activity.running : activity.in_flight;
  return values.length === 0 ? null : timeOf(activity, values.indexOf(Math.max(...values)));
}

/** Formats a mean number of attempts. */
export const meanText = (mean: number) => count(Math.round(mean * 10) / 10);

/**
 * Draws bars of the attempts in flight above bars of the running ones. Each half has its own scale, because
 * thousands may be in flight while few run. `failures` also marks failed attempts.
 */
export function drawActivity(
  context: CanvasRenderingContext2D,
  size: Size,
  activity: Activity,
  palette: Palette,
  failures = false,
) {
  const step = size.width / activity.in_flight.length;
  const middle = Math.round(size.height * 0.48);
  const bars = (values: number[], color: string, top: number, bottom: number) => {
    context.fillStyle = color;
    const most = Math.max(...values, 1e-9);
    values.forEach((value, at) => {
      const height = value > 0 ? Math.max(1, (value / most) * (bottom - top - 4)) : 0;
      context.fillRect(at * step, bottom - height, Math.max(step, 0.5), height);
    });
  };
  context.globalAlpha = 0.45;
  bars(activity.in_flight, palette.tone('waiting'), 0, middle);
  context.globalAlpha = 0.75;
  bars(activity.running, palette.tone('busy'), middle, size.height);
  context.globalAlpha = 1;
  context.fillStyle = palette.line;
  context.fillRect(0, middle, size.width, 1);
  if (!failures) return;
  context.fillStyle = palette.tone('bad');
  activity.failed.forEach((failed, at) => {
    if (failed > 0) context.fillRect(at * step, 0, Math.max(step, 2), MARK);
  });
}
