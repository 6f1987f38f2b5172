import { ActionIcon, Button, Tooltip } from '@mantine/core';
import { IconActivity, IconChevronLeft, IconChevronRight } from '@tabler/icons-react';
import { useCallback, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { fullTime } from '../../base/format';
import { ActivityLegend } from '../../ui/activity/ActivityLegend';
import { type Activity, bucketOf, drawActivity, timeOf } from '../../ui/activity/activity';
import { useCanvas, usePalette } from '../../ui/canvas';
import { Dot } from '../../ui/Dot';
import { Time } from '../../ui/Time';
import words from '../../ui/theme/words.module.css';
import css from './TimeSlider.module.css';

/** Minimum time between changes of the URL while the handle is dragged, ms. */
const PACE = 150;
/** Maximum delay of the activity data, ns. */
const LAG = 15e9;

/**
 * The slider for the shown time, with the number of attempts in flight above it. `onAt(undefined)` makes the
 * view follow a live session, or chooses the busiest time of an ended one.
 */
export function TimeSlider(props: {
  activity: Activity | undefined;
  at: number | null;
  follows: boolean;
  live: boolean;
  onAt: (ns: number | undefined) => void;
}) {
  const { activity, at, onAt } = props;
  const { t } = useTranslation();
  const palette = usePalette();
  const [dragged, setDragged] = useState<number | null>(null);
  const pause = useRef<ReturnType<typeof setTimeout>>(undefined);
  const wanted = useRef<number | undefined>(undefined);
  useEffect(() => () => clearTimeout(pause.current), []);
  const shownAt = dragged ?? at;
  const ready = activity !== undefined && activity.begin_ns !== null;
  const share =
    ready && shownAt !== null && activity.end_ns !== null && activity.begin_ns !== null
      ? Math.min(Math.max((shownAt - activity.begin_ns) / (activity.end_ns - activity.begin_ns), 0), 1)
      : null;

  const draw = useCallback(
    (context: CanvasRenderingContext2D, size: { width: number; height: number }) => {
      if (activity !== undefined) drawActivity(context, size, activity, palette);
    },
    [activity, palette],
  );
  const { box, canvas } = useCanvas(draw);

  const go = (ns: number | undefined) => {
    clearTimeout(pause.current);
    pause.current = undefined;
    onAt(ns);
  };
  const timeAt = (x: number): number | null => {
    const element = box.current;
    if (element === null || !ready || activity.begin_ns === null || activity.end_ns === null) return null;
    const { left, width } = element.getBoundingClientRect();
    const part = Math.min(Math.max((x - left) / width, 0), 1);
    // At the very end, nothing is in flight any more, so stop just before it.
    return Math.min(
      Math.round(activity.begin_ns + part * (activity.end_ns - activity.begin_ns)),
      activity.end_ns - 512,
    );
  };
  const drag = (x: number) => {
    const ns = timeAt(x);
    if (ns === null) return;
    setDragged(ns);
    wanted.current = ns;
    if (pause.current === undefined)
      pause.current = setTimeout(() => {
        pause.current = undefined;
        onAt(wanted.current);
      }, PACE);
  };
  const step = (buckets: number) => {
    if (!ready || shownAt === null) return;
    const ns = timeOf(activity, bucketOf(activity, shownAt) + buckets);
    if (ns !== null) go(ns);
  };
  const bucket = ready && shownAt !== null ? bucketOf(activity, shownAt) : null;
  // The last requested time is slightly older than now.
  const within =
    ready &&
    shownAt !== null &&
    shownAt >= (activity.begin_ns ?? 0) &&
    shownAt <= (activity.end_ns ?? 0) + LAG;
  return (
    <div className={css.time} data-testid="stack-time">
      <div className={css.bar}>
        <Tooltip label={t('stack.before')}>
          <ActionIcon
            size={26}
            variant="default"
            aria-label={t('stack.before')}
            disabled={bucket === null || bucket === 0}
            onClick={() => step(-1)}
            data-testid="stack-before"
          >
            <IconChevronLeft size={16} />
          </ActionIcon>
        </Tooltip>
        <Tooltip label={t('stack.after')}>
          <ActionIcon
            size={26}
            variant="default"
            aria-label={t('stack.after')}
            disabled={bucket === null || bucket === (activity?.in_flight.length ?? 0) - 1}
            onClick={() => step(1)}
            data-testid="stack-after"
          >
            <IconChevronRight size={16} />
          </ActionIcon>
        </Tooltip>
        <Button
          size="compact-sm"
          variant={props.follows ? 'light' : 'default'}
          aria-pressed={props.follows}
          leftSection={
            props.live ? (
              <Dot
                color={props.follows ? 'var(--rs-tone-good)' : 'var(--rs-tone-quiet)'}
                pulse={props.follows}
              />
            ) : (
              <IconActivity size={14} />
            )
          }
          onClick={() => go(undefined)}
          data-testid="stack-now"
        >
          {t(props.live ? 'stack.live' : 'stack.busiest')}
        </Button>
        <b className={words.num} data-testid="stack-at">
          {shownAt === null ? '–' : <Time ns={shownAt} exact />}
        </b>
        <span className={css.legend}>
          {activity !== undefined && <ActivityLegend activity={activity} bucket={within ? bucket : null} />}
        </span>
      </div>
      <div
        ref={box}
        className={css.track}
        role="slider"
        tabIndex={0}
        aria-label={t('stack.time')}
        aria-valuemin={0}
        aria-valuemax={Math.max(0, (activity?.in_flight.length ?? 1) - 1)}
        aria-valuenow={bucket ?? 0}
        aria-valuetext={shownAt === null ? '' : fullTime(shownAt)}
        aria-disabled={!ready || undefined}
        onPointerDown={(event) => {
          if (event.button !== 0) return;
          event.currentTarget.setPointerCapture(event.pointerId);
          drag(event.clientX);
        }}
        onPointerMove={(event) => {
          if (event.currentTarget.hasPointerCapture(event.pointerId)) drag(event.clientX);
        }}
        onPointerUp={(event) => {
          const ns = timeAt(event.clientX);
          if (dragged !== null && ns !== null) go(ns);
          setDragged(null);
        }}
        onPointerCancel={() => setDragged(null)}
        onKeyDown={(event) => {
          const by: Record<string, number> = {
            ArrowLeft: -1,
            ArrowDown: -1,
            ArrowRight: 1,
            ArrowUp: 1,
            PageDown: -20,
            PageUp: 20,
            Home: -1e6,
            End: 1e6,
          };
          const buckets = by[event.key];
          if (buckets === undefined) return;
          event.preventDefault();
          step(buckets);
        }}
        data-testid="stack-slider"
      >
        <canvas ref={canvas} aria-hidden />
        {share !== null && <div className={css.handle} style={{ left: `${share * 100}%` }} />}
      </div>
      <div className={`${css.ends} ${words.dim}`}>
        <Time ns={activity?.begin_ns ?? null} exact />
        <Time ns={activity?.end_ns ?? null} exact />
      </div>
    </div>
  );
}
