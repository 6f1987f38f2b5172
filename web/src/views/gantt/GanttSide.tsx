import type { GanttLane } from '../../api/schema';
import { isDriver } from '../../ui/taskColumns';
import { useSessionUrl } from '../../ui/useUrl';
import { parseRange } from '../shared/range';
import type { Span } from '../shared/span';
import { GanttPath } from './GanttPath';
import { GanttRange } from './GanttRange';
import shared from './gantt.module.css';
import type { useGanttShown } from './useGanttShown';
import type { useRange } from './useRange';

/** The panel next to the chart: the chosen range of time, and the critical path. */
export function GanttSide(props: {
  gantt: ReturnType<typeof useGanttShown>;
  statistics: ReturnType<typeof useRange>;
  /** The range, in times of the chart. */
  span: Span | null;
  onLanePick: (lane: Pick<GanttLane, 'kind' | 'id' | 'label'>) => void;
}) {
  const [url, change] = useSessionUrl();
  const { statistics } = props;
  const { path, withPath, zero, onMove } = props.gantt;
  const range = parseRange(url.settings?.range);
  const showPart = (name: string, phase: string, ofDriver: boolean) => {
    const links =
      path.data?.links.filter(
        (link) => link.name === name && link.phase === phase && isDriver(link.task_id) === ofDriver,
      ) ?? [];
    const longest = links.reduce(
      (best, link) => (best && best.end_ns - best.begin_ns >= link.end_ns - link.begin_ns ? best : link),
      links[0],
    );
    if (!longest || zero === null) return;
    const length = longest.end_ns - longest.begin_ns;
    onMove({ begin: longest.begin_ns - zero - length / 2, end: longest.end_ns - zero + length / 2 });
    if (longest.task_id && !ofDriver)
      change((before) => ({ ...before, task: longest.task_id, attempt: longest.attempt }));
  };
  const { span } = props;
  const room = span === null ? 0 : (span.end - span.begin) * 0.05;
  const zoom = span === null ? undefined : () => onMove({ begin: span.begin - room, end: span.end + room });
  if (!withPath && range === null) return null;
  return (
    <div className={shared.side}>
      {range !== null && (
        <GanttRange
          range={range}
          answer={statistics.data}
          outdated={statistics.isPlaceholderData}
          error={statistics.error}
          onZoom={zoom}
          onLanePick={props.onLanePick}
        />
      )}
      {withPath && <GanttPath path={path.data} error={path.error} onShow={showPart} />}
    </div>
  );
}
