import { Tooltip } from '@mantine/core';
import { IconKeyboard, IconPalette } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import type { GanttAnswer } from '../../api/schema';
import { bytes, count, duration } from '../../base/format';
import { showKeys } from '../../base/keys';
import { REPORT } from '../../base/report';
import { withSettings } from '../../base/url';
import { usePalette } from '../../ui/canvas';
import { useLibraryTexts } from '../../ui/insights/OnlyMine';
import { PausedMark, usePausedTasks } from '../../ui/PausedMark';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import type { Span } from '../shared/span';
import css from './GanttNote.module.css';
import { memoryFill } from './ganttMemory';

/** Explains what the picture shows and omits, and chooses what its colours mean. */
export function GanttNote({ data, window }: { data: GanttAnswer; window: Span }) {
  const { t } = useTranslation();
  const [url, change] = useSessionUrl();
  const byMemory = url.settings?.color === 'memory';
  const libraryTexts = useLibraryTexts();
  const tasks = usePausedTasks();
  const paused = tasks.filter(({ task_id }) => task_id !== null && data.bars.task_id.includes(task_id));
  const folded = data.lanes.reduce((sum, lane) => sum + lane.folded, 0);
  return (
    <>
      <span data-testid="gantt-count" data-total={data.attempts}>
        {t('gantt.shown', {
          n: count(data.attempts),
          lanes: count(data.lanes_total),
          // A report has one answer for all windows.
          span: duration(REPORT === null ? window.end - window.begin : data.end_ns - data.begin_ns),
        })}
      </span>
      {data.hidden.length > 0 && (
        <span title={libraryTexts(data.hidden)} data-testid="libraries">
          {` · ${libraryTexts(data.hidden)}`}
        </span>
      )}
      {data.merged > 0 &&
        ` · ${t('gantt.merged', { n: count(data.merged), least: duration(2 * data.resolution_ns) })}`}
      {data.left_out > 0 && ` · ${t('gantt.leftOut', { n: count(data.left_out) })}`}
      {folded > 0 && ` · ${t('gantt.folded', { n: count(folded) })}`}
      {paused.length > 0 && (
        <span className={css.legend}>
          <PausedMark tasks={paused} testId="gantt-paused">
            {t('debugger.pausedHint')}
          </PausedMark>
        </span>
      )}
      {byMemory && <MemoryLegend largest={data.max_memory} />}
      <button
        type="button"
        className={`${css.keys} ${words.link}`}
        onClick={() => change((before) => withSettings(before, { color: byMemory ? undefined : 'memory' }))}
        data-testid="gantt-memory-toggle"
      >
        <IconPalette size={15} aria-hidden /> {t(byMemory ? 'gantt.byFunction' : 'gantt.byMemory')}
      </button>
      <Tooltip label={`${t('range.hint')}, ${t('gantt.mouse')}`} multiline maw={420}>
        <button type="button" className={`${css.keys} ${words.link}`} onClick={showKeys}>
          <IconKeyboard size={15} aria-hidden /> {t('keys.title')}
        </button>
      </Tooltip>
    </>
  );
}

/** The legend of colours by memory. `largest`: the largest peak memory, or null if none was measured. */
function MemoryLegend({ largest }: { largest: number | null }) {
  const { t } = useTranslation();
  const { scheme } = usePalette();
  const [none, low, high] = [null, 0, 1].map((peak) => memoryFill(peak, 1, scheme));
  return (
    <span className={css.legend} data-testid="gantt-memory-legend">
      {largest !== null && (
        <>
          {t('column.peakMemory')} 0
          <i style={{ width: 60, background: `linear-gradient(to right, ${low}, ${high})` }} />
          {bytes(largest)}
        </>
      )}
      <i style={{ background: none }} />
      {t('gantt.memoryUnknown')}
    </span>
  );
}
