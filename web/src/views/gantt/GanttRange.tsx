import { ActionIcon, Tooltip } from '@mantine/core';
import { IconX } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import type { GanttLane } from '../../api/schema';
import { clockTime, duration, fullTime } from '../../base/format';
import { withSettings } from '../../base/url';
import { ErrorPanel } from '../../ui/ErrorPanel';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import { lengthOf, type TimeRange } from '../shared/range';
import css from './GanttRange.module.css';
import shared from './gantt.module.css';
import { RangeLanes } from './RangeLanes';
import { RangeLinks } from './RangeLinks';
import { RangePhases } from './RangePhases';
import { RangeSums } from './RangeSums';
import type { RangeAnswer } from './useRange';

/** Statistics of a range of time, with links. */
export function GanttRange(props: {
  range: TimeRange;
  answer: RangeAnswer | undefined;
  outdated: boolean;
  error: Error | null;
  /** Undefined until the chart knows its times. */
  onZoom: (() => void) | undefined;
  onLanePick: (lane: Pick<GanttLane, 'kind' | 'id' | 'label'>) => void;
}) {
  const { range, answer } = props;
  const [, change] = useSessionUrl();
  const { t } = useTranslation();
  return (
    <section
      className={`${shared.path} ${shared.range}`}
      aria-label={t('range.title')}
      data-testid="gantt-range"
    >
      <div className={shared.pathHead}>
        <h3>{t('range.title')}</h3>
        <span className={`${words.num} ${words.dim}`} data-testid="gantt-range-length">
          {duration(lengthOf(range))}
        </span>
        <Tooltip label={t('range.clear')}>
          <ActionIcon
            size={22}
            aria-label={t('range.clear')}
            onClick={() => change((before) => withSettings(before, { range: undefined }))}
            data-testid="gantt-range-clear"
          >
            <IconX size={14} />
          </ActionIcon>
        </Tooltip>
      </div>
      <p
        className={`${words.dim} ${words.num} ${shared.pathText}`}
        title={`${fullTime(range.from)}\n${fullTime(range.to)}`}
      >
        {clockTime(range.from)} – {clockTime(range.to)}
      </p>
      <RangeLinks range={range} onZoom={props.onZoom} />
      {answer === undefined ? (
        props.error ? (
          <ErrorPanel error={props.error} />
        ) : (
          <p className={`${words.dim} ${shared.pathText}`} role="status">
            {t('range.reading')}
          </p>
        )
      ) : (
        <div data-outdated={props.outdated || undefined} className={css.numbers}>
          <RangeSums answer={answer} />
          {answer.attempts > 0 && (
            <>
              <RangePhases answer={answer} />
              <RangeLanes answer={answer} onPick={props.onLanePick} />
            </>
          )}
        </div>
      )}
    </section>
  );
}
