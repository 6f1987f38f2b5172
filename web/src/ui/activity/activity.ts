import type { ActivityAnswer } from '../../api/schema';
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

/**
 * Draws bars of the attempts in flight and, in front of them, bars of the running ones. `failures` also marks
 * failed attempts.
 */
export function drawActivity(
  context: CanvasRenderingContext2D,
  size: Size,
  activity: Activity,
  palette: Palette,
  failures = false,
) {
  if (activity.in_flight.length === 0) return;
  const most = Math.max(...activity.in_flight, ...activity.running, 1e-9);
  const step = size.width / activity.in_flight.length;
  const bars = (values: number[], color: string, alpha: number) => {
    context.fillStyle = color;
    context.globalAlpha = alpha;
    values.forEach((value, at) => {
      const height = value > 0 ? Math.max(1, (value / most) * (size.height - 4)) : 0;
      context.fillRect(at * step, size.height - height, Math.max(step, 0.5), height);
    });
    context.globalAlpha = 1;
  };
  bars(activity.in_flight, palette.tone('waiting'), 0.35);
  bars(activity.running, palette.tone('busy'), 0.6);
  if (!failures) return;
  context.fillStyle = palette.tone('bad');
  activity.failed.forEach((failed, at) => {
    if (failed > 0) context.fillRect(at * step, 0, Math.max(step, 2), MARK);
  });
}
