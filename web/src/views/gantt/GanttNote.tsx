import { Tooltip } from '@mantine/core';
import { IconKeyboard } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import type { GanttAnswer } from '../../api/schema';
import { count, duration } from '../../base/format';
import { showKeys } from '../../base/keys';
import { useLibraryTexts } from '../../ui/insights/OnlyMine';
import words from '../../ui/theme/words.module.css';
import type { Span } from '../shared/span';
import css from './GanttNote.module.css';

/** Explains what the picture shows and omits. */
export function GanttNote({ data, window }: { data: GanttAnswer; window: Span }) {
  const { t } = useTranslation();
  const libraryTexts = useLibraryTexts();
  const folded = data.lanes.reduce((sum, lane) => sum + lane.folded, 0);
  return (
    <>
      <span data-testid="gantt-count" data-total={data.attempts}>
        {t('gantt.shown', {
          n: count(data.attempts),
          lanes: count(data.lanes_total),
          span: duration(window.end - window.begin),
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
      <Tooltip label={`${t('range.hint')}, ${t('gantt.mouse')}`} multiline maw={420}>
        <button type="button" className={`${css.keys} ${words.link}`} onClick={showKeys}>
          <IconKeyboard size={15} aria-hidden /> {t('keys.title')}
        </button>
      </Tooltip>
    </>
  );
}
