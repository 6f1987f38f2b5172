import { useCallback, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import type { GanttAnswer } from '../../api/schema';
import { duration } from '../../base/format';
import { useCanvas, usePalette } from '../../ui/canvas';
import layout from '../../ui/theme/layout.module.css';
import type { Span } from '../shared/span';
import css from './GanttMinimap.module.css';
import shared from './gantt.module.css';
import { drawUtilisation } from './ganttMinimapDraw';

/**
 * An overview of the whole execution: the number of running attempts over time, with the window marked. A
 * drag chooses another window.
 */
export function GanttMinimap(props: {
  utilisation: GanttAnswer['utilisation'];
  whole: Span;
  window: Span;
  onWindow: (window: Span) => void;
}) {
  const { t } = useTranslation();
  const look = usePalette();
  const { utilisation, whole, window } = props;
  const span = Math.max(1, whole.end - whole.begin);
  const { box, canvas } = useCanvas(
    useCallback(
      (context, size) => {
        if (utilisation) drawUtilisation(context, size, utilisation, span, look);
      },
      [utilisation, span, look],
    ),
  );
  const from = useRef<{ at: number; moves: boolean; window: Span } | null>(null);
  const timeAt = (event: React.PointerEvent) => {
    const bounds = event.currentTarget.getBoundingClientRect();
    const share = Math.min(1, Math.max(0, (event.clientX - bounds.left) / Math.max(1, bounds.width)));
    return whole.begin + share * span;
  };
  const most = utilisation === null ? 0 : Math.max(0, ...utilisation.running);
  const percent = (ns: number) => Math.min(100, Math.max(0, ((ns - whole.begin) / span) * 100));
  const left = percent(window.begin);
  const right = percent(window.end);
  return (
    <div
      ref={box}
      className={shared.map}
      role="img"
      aria-label={t('gantt.minimap')}
      title={t('gantt.minimapHint', { most: most.toFixed(most < 10 ? 1 : 0), span: duration(span) })}
      data-testid="gantt-minimap"
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        const at = timeAt(event);
        const part = window.end - window.begin < span * 0.98;
        from.current = { at, window, moves: part && at > window.begin && at < window.end };
      }}
      onPointerMove={(event) => {
        const drag = from.current;
        if (drag === null) return;
        const at = timeAt(event);
        if (drag.moves) {
          const by = at - drag.at;
          props.onWindow({ begin: drag.window.begin + by, end: drag.window.end + by });
        } else if (Math.abs(at - drag.at) > span / 200) {
          props.onWindow({ begin: Math.min(at, drag.at), end: Math.max(at, drag.at) });
        }
      }}
      onPointerUp={() => {
        from.current = null;
      }}
      onPointerCancel={() => {
        from.current = null;
      }}
    >
      <canvas ref={canvas} className={layout.canvas} aria-hidden />
      <div className={css.shade} style={{ left: 0, width: `${left}%` }} />
      <div className={css.shade} style={{ left: `${right}%`, right: 0 }} />
      <div className={css.frame} style={{ left: `${left}%`, width: `${Math.max(0.3, right - left)}%` }} />
    </div>
  );
}
