import type { ActivityAnswer } from '../../api/schema';

export type Activity = ActivityAnswer;

/** The bucket that a time is in, within 0 and the last one. */
export function bucketOf(activity: Activity, ns: number): number {
  if (activity.begin_ns === null || activity.bucket_ns === null) return 0;
  const bucket = Math.floor((ns - activity.begin_ns) / activity.bucket_ns);
  return Math.min(Math.max(bucket, 0), activity.in_flight.length - 1);
}

/** The time in the middle of a bucket, as a whole number of ns; the bucket is brought within the session's. */
export function timeOf(activity: Activity, bucket: number): number | null {
  if (activity.begin_ns === null || activity.bucket_ns === null) return null;
  const within = Math.min(Math.max(bucket, 0), activity.in_flight.length - 1);
  return Math.round(activity.begin_ns + (within + 0.5) * activity.bucket_ns);
}
