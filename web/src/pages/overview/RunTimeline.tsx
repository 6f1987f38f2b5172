import { Group, Text } from '@mantine/core';
import { useCallback, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Item } from '../../api/types';
import { count, programName } from '../../base/format';
import type { Tone } from '../../base/tokens';
import { rangeIn, toItem, toView, withRange, withSettings } from '../../base/url';
import { type Activity, bucketOf, drawActivity, timeOf } from '../../ui/activity/activity';
import { useActivity } from '../../ui/activity/useActivity';
import { type Draw, useCanvas, usePalette } from '../../ui/canvas';
import { Link } from '../../ui/Link';
import { Time } from '../../ui/Time';
import { go, useSessionUrl } from '../../ui/useUrl';
import css from './RunTimeline.module.css';
import { useJobs } from './useOverview';

/** Buckets that a pointer moves before it is a drag. */
const DRAG = 3;
/** Jobs that have a band. */
const BANDS = 5;
const LEGEND: [Tone, 'running' | 'inFlight' | 'failed'][] = [
  ['busy', 'running'],
  ['waiting', 'inFlight'],
  ['bad', 'failed'],
];

/** The run from its first submission on: what ran, what waited, what failed, and the jobs below. */
export function RunTimeline() {
  const [url] = useSessionUrl();
  const activity = useActivity(url.session, {}).data;
  const jobs = useJobs(url.session, false).data?.items ?? [];
  if (activity === undefined || activity.begin_ns === null || activity.end_ns === null) return null;
  return (
    <section className={css.timeline} data-testid="run-timeline">
      <Track activity={activity} />
      <Bands jobs={jobs.slice(0, BANDS)} begin={activity.begin_ns} end={activity.end_ns} />
    </section>
  );
}

/** The chart; a click leads to the call stack at that time, a drag narrows all pages to a range. */
function Track({ activity }: { activity: Activity }) {
  const { t } = useTranslation();
  const [url, change] = useSessionUrl();
  const palette = usePalette();
  const [pointed, setPointed] = useState<number | null>(null);
  const [pressed, setPressed] = useState<number | null>(null);
  const draw = useCallback<Draw>(
    (context, size) => drawActivity(context, size, activity, palette, true),
    [activity, palette],
  );
  const { box, canvas } = useCanvas(draw);
  const bucketAt = (x: number): number | null => {
    const element = box.current;
    if (element === null) return null;
    const { left, width } = element.getBoundingClientRect();
    const parts = activity.in_flight.length;
    return Math.min(Math.max(Math.floor(((x - left) / width) * parts), 0), parts - 1);
  };
  const parts = activity.in_flight.length;
  const isDrag = pressed !== null && pointed !== null && Math.abs(pointed - pressed) >= DRAG;
  const range = rangeIn(url.filters);
  const shown = isDrag
    ? { begin: Math.min(pressed, pointed), end: Math.max(pressed, pointed) + 1 }
    : range !== null && {
        begin: bucketOf(activity, Number(range.from)),
        end: bucketOf(activity, Number(range.to)) + 1,
      };
  const narrow = () => {
    const begin = activity.begin_ns ?? 0;
    const bucket = activity.bucket_ns ?? 0;
    if (!shown) return;
    const at = (place: number) => String(Math.round(begin + place * bucket));
    change((before) => withRange(before, { from: at(shown.begin), to: at(shown.end) }));
  };
  const ns = pointed === null ? null : timeOf(activity, pointed);
  const figures = (bucket: number) => ({
    running: count(Math.round((activity.running[bucket] ?? 0) * 10) / 10),
    inFlight: count(Math.round((activity.in_flight[bucket] ?? 0) * 10) / 10),
    failed: count(activity.failed[bucket] ?? 0),
  });
  return (
    <>
      <Group gap="md" mb={4} justify="space-between">
        <Group gap="md">
          {LEGEND.map(([tone, name]) => (
            <Group key={name} gap={6}>
              <span className={css.swatch} style={{ background: `var(--rs-tone-${tone})` }} />
              <Text size="xs" c="dimmed">
                {t(`overview.timeline.${name}`)}
                {pointed !== null && `: ${figures(pointed)[name]}`}
              </Text>
            </Group>
          ))}
        </Group>
        <Text size="xs" c="dimmed">
          {ns === null ? t('overview.timeline.hint') : <Time ns={ns} exact />}
        </Text>
      </Group>
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: the stack's own slider is for the keyboard */}
      {/* biome-ignore lint/a11y/noStaticElementInteractions: as above */}
      <div
        ref={box}
        className={css.track}
        onPointerMove={(event) => setPointed(bucketAt(event.clientX))}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          setPressed(bucketAt(event.clientX));
        }}
        onPointerUp={() => {
          if (isDrag) narrow();
          // The click comes after this, and is none if it was a drag.
          setTimeout(() => setPressed(null));
        }}
        onPointerCancel={() => setPressed(null)}
        onPointerLeave={() => setPointed(null)}
        onClick={(event) => {
          if (isDrag) return;
          const at = timeOf(activity, bucketAt(event.clientX) ?? 0);
          if (at !== null) go(withSettings(toView(url, 'stack'), { at: String(at) }));
        }}
        data-testid="run-track"
      >
        <canvas ref={canvas} aria-hidden />
        {shown && (
          <div
            className={css.range}
            data-testid="run-range"
            style={{
              left: `${(shown.begin / parts) * 100}%`,
              width: `${((shown.end - shown.begin) / parts) * 100}%`,
            }}
          />
        )}
        {pointed !== null && (
          <div
            className={css.cursor}
            style={{ left: `${((pointed + 0.5) / activity.in_flight.length) * 100}%` }}
          />
        )}
      </div>
      <Group justify="space-between" mt={2}>
        <Text size="xs" c="dimmed">
          <Time ns={activity.begin_ns} exact />
        </Text>
        <Text size="xs" c="dimmed">
          <Time ns={activity.end_ns} exact />
        </Text>
      </Group>
    </>
  );
}

/** A band for each of several jobs, as long as it ran. */
function Bands({ jobs, begin, end }: { jobs: Item[]; begin: number; end: number }) {
  const [url] = useSessionUrl();
  if (jobs.length < 2) return null;
  const share = (ns: number) => Math.min(Math.max((ns - begin) / Math.max(1, end - begin), 0), 1) * 100;
  return (
    <div className={css.bands}>
      {jobs.map((job) => {
        const id = String(job.job_id ?? '');
        const left = share((job.start_ns as number | null) ?? begin);
        const right = share((job.end_ns as number | null) ?? end);
        const name = typeof job.entrypoint === 'string' ? programName(job.entrypoint) : '';
        return (
          <div key={id} className={css.band} data-testid="run-job">
            <span
              className={css.job}
              data-failed={job.state === 'FAILED' || undefined}
              style={{ left: `${left}%`, width: `${Math.max(right - left, 0.3)}%` }}
            >
              <Link to={toItem(url, 'jobs', id)} className={css.jobName} title={`${name} ${id}`}>
                {name || id}
              </Link>
            </span>
          </div>
        );
      })}
    </div>
  );
}
