import { Group, Text } from '@mantine/core';
import { useCallback, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { type Filters, rangeIn, toView, withRange, withSettings } from '../../base/url';
import { type Draw, useCanvas, usePalette } from '../canvas';
import { Time } from '../Time';
import layout from '../theme/layout.module.css';
import { go, useSessionUrl } from '../useUrl';
import { ActivityLegend } from './ActivityLegend';
import css from './ActivityTrack.module.css';
import { type Activity, bucketOf, drawActivity, timeOf } from './activity';

/** Minimum pointer movement that counts as a drag, in buckets. */
const DRAG_THRESHOLD = 3;

/**
 * Running, waiting and failed attempts over time that match `filters`. A click opens the call stack at that
 * time. A drag limits all pages to a range of time.
 */
export function ActivityTrack({ activity, filters = {} }: { activity: Activity; filters?: Filters }) {
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
  const isDrag = pressed !== null && pointed !== null && Math.abs(pointed - pressed) >= DRAG_THRESHOLD;
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
  return (
    <>
      <Group gap="md" mb={4} justify="space-between">
        <ActivityLegend activity={activity} bucket={pointed} failures />
        <Text size="xs" c="dimmed">
          {ns === null ? t('activity.hint') : <Time ns={ns} exact />}
        </Text>
      </Group>
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: keyboard users have the slider of the call stack */}
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
          // The click event comes next. It still needs to know whether this was a drag.
          setTimeout(() => setPressed(null));
        }}
        onPointerCancel={() => setPressed(null)}
        onPointerLeave={() => setPointed(null)}
        onClick={(event) => {
          if (isDrag) return;
          const at = timeOf(activity, bucketAt(event.clientX) ?? 0);
          if (at !== null) go(withSettings(toView(url, 'stack', filters), { at: String(at) }));
        }}
        data-testid="run-track"
      >
        <canvas ref={canvas} className={layout.canvas} aria-hidden />
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
