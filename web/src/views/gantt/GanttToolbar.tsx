import { ActionIcon, Button, NativeSelect, SegmentedControl, Tooltip } from '@mantine/core';
import { IconArrowsHorizontal, IconRoute } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { count } from '../../base/format';
import { withSettings } from '../../base/url';
import { OnlyMineSwitch } from '../../ui/insights/OnlyMine';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import { FindBox } from '../shared/FindBox';
import { KINDS, type Kind } from './ganttData';
import type { GanttFind } from './useGanttFind';

/**
 * Choices of the number of call levels with lanes of their own. Deeper calls share the lane of their caller.
 * Without a choice, each call path has its own lane.
 */
export const LEVELS = ['1', '2', '3', '4', '6', '10'] as const;
export type Level = (typeof LEVELS)[number];

/** Controls for the lanes, the critical path, and the search. */
export function GanttToolbar(props: {
  by: Kind;
  find: GanttFind;
  levels: Level | undefined;
  canFit: boolean;
  onFit: () => void;
  children: ReactNode;
}) {
  const { by, find, levels } = props;
  const [url, change] = useSessionUrl();
  const { t } = useTranslation();
  const withPath = url.settings?.path === '1';
  return (
    <>
      <FindBox
        view="gantt"
        label={t('range.find')}
        onEnter={find.next}
        foundWidth={find.matches === null ? undefined : 76}
        found={
          find.matches !== null && (
            <span
              className={`${words.dim} ${words.num}`}
              title={t('gantt.foundHint')}
              data-testid="gantt-found"
            >
              {find.bars.length === 0
                ? t('gantt.foundNone')
                : t('gantt.found', {
                    at: find.at < 0 ? '–' : count(find.at + 1),
                    n: count(find.bars.length),
                  })}
            </span>
          )
        }
      />
      <SegmentedControl
        size="xs"
        aria-label={t('gantt.by')}
        data={KINDS.map((kind) => ({ value: kind, label: t(`gantt.kind.${kind}`) }))}
        value={by}
        onChange={(value) =>
          change((before) => withSettings(before, { by: value === 'worker' ? undefined : value }))
        }
        data-testid="gantt-by"
      />
      {by === 'path' && (
        <NativeSelect
          size="xs"
          aria-label={t('range.levels')}
          title={t('range.levels')}
          value={levels ?? ''}
          data={[
            { value: '', label: t('range.allLevels') },
            ...LEVELS.map((value) => ({ value, label: t('range.toLevel', { n: value }) })),
          ]}
          onChange={(event) => {
            const { value } = event.currentTarget;
            change((before) => withSettings(before, { levels: value || undefined }));
          }}
          data-testid="gantt-levels"
        />
      )}
      <OnlyMineSwitch />
      <Button
        size="compact-sm"
        variant={withPath ? 'filled' : 'default'}
        leftSection={<IconRoute size={15} />}
        aria-pressed={withPath}
        onClick={() => change((before) => withSettings(before, { path: withPath ? undefined : '1' }))}
        data-testid="gantt-path-toggle"
      >
        {t('gantt.path')}
      </Button>
      <Tooltip label={`${t('gantt.fit')} (F)`}>
        <ActionIcon
          size={26}
          aria-label={t('gantt.fit')}
          disabled={!props.canFit}
          onClick={props.onFit}
          data-testid="gantt-fit"
        >
          <IconArrowsHorizontal size={16} />
        </ActionIcon>
      </Tooltip>
      {props.children}
    </>
  );
}
