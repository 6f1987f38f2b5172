import { IconChartBar } from '@tabler/icons-react';
import { useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { ApiError } from '../../api/client';
import type { GanttLane, Summary } from '../../api/schema';
import { type FilterName, onlyMineOf, withFilter, withSettings } from '../../base/url';
import { EmptyState } from '../../ui/EmptyState';
import { ErrorPanel } from '../../ui/ErrorPanel';
import { FilterBar } from '../../ui/FilterBar';
import { useLibraryTexts } from '../../ui/insights/OnlyMine';
import layout from '../../ui/theme/layout.module.css';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import { formatRange, parseRange, rangeOf, spanOf } from '../shared/range';
import { SaveMenu } from '../shared/SaveMenu';
import type { Span } from '../shared/span';
import { GanttChart } from './GanttChart';
import { GanttHits } from './GanttHits';
import { GanttMinimap } from './GanttMinimap';
import { GanttNote } from './GanttNote';
import { GanttSide } from './GanttSide';
import { GanttToolbar } from './GanttToolbar';
import css from './GanttView.module.css';
import shared from './gantt.module.css';
import { RangeFunctions } from './RangeFunctions';
import { useGanttFind } from './useGanttFind';
import { useGanttShown } from './useGanttShown';
import { useRange } from './useRange';

/** The filter that selects the attempts of a single lane. */
const LANE_FILTERS: Partial<Record<GanttLane['kind'], FilterName>> = {
  worker: 'worker_id',
  node: 'node_id',
  actor: 'actor_id',
  function: 'func_name',
  path: 'func_name',
};

/** The Gantt chart: which attempts ran where and when, and the critical path. */
export default function GanttView({ summary }: { summary: Summary | undefined }) {
  const [url, change] = useSessionUrl();
  const { t } = useTranslation();
  const libraryTexts = useLibraryTexts();
  const gantt = useGanttShown();
  const { by, levels, query, data, withPath, path, zero, shown, onMove } = gantt;
  const chart = useRef<HTMLCanvasElement>(null);
  const range = parseRange(url.settings?.range);
  const rangeSpan = spanOf(zero, range);
  const statistics = useRange(url.session, url.filters, onlyMineOf(url), by, levels, range);
  const onRange = (next: Span | null) => {
    const chosen = next === null || zero === null ? null : rangeOf(zero, next.begin, next.end);
    change((before) => withSettings(before, { range: chosen === null ? undefined : formatRange(chosen) }));
  };
  const find = useGanttFind(data, url.settings?.find ?? '');
  const onLanePick = (lane: Pick<GanttLane, 'kind' | 'id' | 'label'>) => {
    const filter = LANE_FILTERS[lane.kind];
    const value = lane.kind === 'path' ? lane.label : lane.id;
    if (filter) change((before) => withFilter(before, filter, value || undefined));
  };
  return (
    <div className={layout.view} data-testid="gantt">
      <FilterBar
        summary={summary}
        options={
          <GanttToolbar
            by={by}
            levels={levels}
            find={find}
            canFit={gantt.window !== null}
            onFit={() => onMove(null)}
          >
            <SaveMenu
              view="gantt"
              disabled={!data}
              picture={chart}
              data={{ gantt: data, critical_path: path.data }}
            />
          </GanttToolbar>
        }
      />
      {data ? (
        <GanttMinimap utilisation={data.utilisation} whole={gantt.whole} window={shown} onWindow={onMove} />
      ) : (
        <div className={shared.map} />
      )}
      <div className={css.gantt}>
        <div className={layout.viewMain}>
          {query.error !== null && data === undefined ? (
            <ErrorPanel
              error={query.error}
              onRetry={
                query.error instanceof ApiError && query.error.status === 400
                  ? undefined
                  : () => void query.refetch()
              }
            />
          ) : data?.attempts === 0 ? (
            <EmptyState icon={<IconChartBar size={26} />} title={t('gantt.empty')}>
              {data.hidden.length > 0
                ? libraryTexts(data.hidden)
                : Object.keys(url.filters).length > 0
                  ? t('gantt.emptyFiltered')
                  : t('table.emptyLive')}
            </EmptyState>
          ) : (
            <GanttChart
              key={gantt.picked}
              data={data}
              nodes={gantt.nodes}
              shift={gantt.shift}
              window={shown}
              path={withPath && zero !== null ? path.data : undefined}
              pathShift={-(zero ?? 0)}
              canvas={chart}
              onWidth={gantt.setWidth}
              onMove={onMove}
              onLanes={gantt.onLanes}
              onLanePick={onLanePick}
              range={rangeSpan}
              kept={spanOf(zero, parseRange(url.settings?.vs))}
              find={find}
              onRange={onRange}
            />
          )}
          {data && find.bars.length > 0 && <GanttHits data={data} find={find} />}
          {range !== null && statistics.data !== undefined && statistics.data.attempts > 0 && (
            <RangeFunctions answer={statistics.data} />
          )}
          <p className={`${css.note} ${words.dim}`} data-testid="gantt-note">
            {data && data.attempts > 0 ? (
              <GanttNote data={data} window={shown} />
            ) : (
              (data === undefined && query.isFetching && t('gantt.reading')) || '\u00a0'
            )}
          </p>
        </div>
        <GanttSide gantt={gantt} statistics={statistics} span={rangeSpan} onLanePick={onLanePick} />
      </div>
    </div>
  );
}
