import { Tooltip } from '@mantine/core';
import type { Tone } from '../../base/tokens';
import { Time } from '../Time';
import css from './ChartMarks.module.css';
import type { Range } from './timeRange';
import { type Mark, placed } from './useMarks';

/** The area of a plot in its canvas, CSS px. */
export interface PlotArea {
  left: number;
  top: number;
  width: number;
  height: number;
}

const TONES_BY_SEVERITY: Tone[] = ['bad', 'waiting', 'busy'];
/** Maximum number of lines in a tooltip. */
const MAX_TOOLTIP_LINES = 8;

/** Thin lines across a plot, each with a handle on the time axis whose tooltip describes the event. */
export function ChartMarks({ marks, range, area }: { marks: Mark[]; range: Range; area: PlotArea }) {
  return placed(marks, range.from, range.to, area.width).map(({ x, marks: those }) => {
    const tone = TONES_BY_SEVERITY.find((one) => those.some((mark) => mark.tone === one)) ?? 'quiet';
    const texts = those.map(({ text }) => text).join(', ');
    return (
      <div
        key={x}
        className={css.mark}
        style={
          {
            left: area.left + x,
            top: area.top,
            height: area.height,
            '--rs-mark': `var(--rs-tone-${tone})`,
          } as React.CSSProperties
        }
      >
        <Tooltip
          withinPortal
          label={those.slice(-MAX_TOOLTIP_LINES).map(({ ms, text }) => (
            <div key={`${ms} ${text}`}>
              <Time ns={ms * 1e6} exact /> {text}
            </div>
          ))}
        >
          <span className={css.handle} role="img" aria-label={texts} data-testid="chart-mark" />
        </Tooltip>
      </div>
    );
  });
}
