import { useTranslation } from 'react-i18next';
import type { GanttAnswer } from '../../api/schema';
import { count, duration } from '../../base/format';
import { Time } from '../../ui/Time';
import { DockedTable, MAX_DOCKED } from '../shared/DockedTable';
import type { GanttFind } from './useGanttFind';

/** The search hits in order of time: the part of the list that has the current one. A click goes to a hit. */
export function GanttHits({ data, find }: { data: GanttAnswer; find: GanttFind }) {
  const { t } = useTranslation();
  const { bars, names, states } = data;
  const from = Math.floor(Math.max(0, find.at) / MAX_DOCKED) * MAX_DOCKED;
  const rows = find.bars.slice(from, from + MAX_DOCKED).map((bar, at) => ({ bar, at: from + at }));
  const span = (bar: number) => (bars.end[bar] as number) - (bars.begin[bar] as number);
  const state = (bar: number) => t(`gantt.state.${states[bars.state[bar] as number] as 'finished'}`);
  return (
    <DockedTable
      label={t('gantt.hits')}
      testId="gantt-hits"
      rows={rows}
      left={find.bars.length - rows.length}
      keyOf={({ bar }) => String(bar)}
      selected={String(find.bar)}
      header={t('column.func_name')}
      nameOf={({ bar }) => ({
        name: names[bars.name[bar] as number] ?? '',
        color: names[bars.name[bar] as number] ?? null,
      })}
      columns={[
        {
          id: 'start',
          header: t('column.start'),
          cell: ({ bar }) => <Time ns={data.origin_ns + (bars.begin[bar] as number)} exact />,
        },
        { id: 'duration', header: t('time.duration'), cell: ({ bar }) => duration(span(bar)) },
        {
          id: 'state',
          header: t('column.state'),
          cell: ({ bar }) => {
            const n = bars.count[bar] as number;
            const failed = bars.failed[bar] as number;
            if (n === 1) return state(bar);
            const texts = [t('gantt.attempts', { n: count(n) })];
            if (failed > 0) texts.push(t('gantt.tipFailed', { n: count(failed) }));
            return texts.join(', ');
          },
        },
      ]}
      onPick={({ at }) => find.go(at)}
    />
  );
}
