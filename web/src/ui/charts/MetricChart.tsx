import { ActionIcon, Button, Skeleton, Tooltip } from '@mantine/core';
import { IconAlertTriangle, IconChartLine, IconTable } from '@tabler/icons-react';
import { lazy, type ReactNode, Suspense, useEffect, useMemo, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ApiError } from '../../api/client';
import { count } from '../../base/format';
import type { ServerMessage } from '../../base/serverMessage';
import { seriesColors, stateColors } from '../../base/tokens';
import { type Scheme, usePalette } from '../canvas';
import { NOT_IN_PICTURE } from '../picture/picture';
import words from '../theme/words.module.css';
import { useServerMessage } from '../useServerMessage';
import { useItemStateName, useStateName } from '../useStateName';
import { useSessionUrl } from '../useUrl';
import { useChartGroup } from './ChartGroup';
import { ChartLegend, restText } from './ChartLegend';
import { ChartMenu } from './ChartMenu';
import { ChartTable } from './ChartTable';
import css from './MetricChart.module.css';
import { colorsOf, endOf, type Line, occurring, type Query } from './series';
import type { Range } from './timeRange';
import { useChart } from './useChart';
import { useMarks } from './useMarks';
import { useTimeRange } from './useTimeRange';

/** A separate chunk, which loads in parallel with the values. */
const canvas = import('./ChartCanvas');
const ChartCanvas = lazy(() => canvas);

interface MetricChartProps {
  title: string;
  /** Tooltip of the title. */
  hint?: string;
  queries: readonly Query[];
  /** See units.ts. By default, the unit that the server knows for the metric. */
  unit?: string;
  /** Height of the plot area, CSS px. */
  height?: number;
  /** A session other than the page's. */
  session?: string;
  stacked?: boolean;
  /** Value of a dashed line across the plot. */
  threshold?: number;
  /** Called with the chosen range instead of zooming the page. */
  onRange?: (range: Range) => void;
  /** Additional entries of the chart's menu. */
  menu?: ReactNode;
  /** Number of grid columns. */
  width?: 1 | 2 | 3;
  testId?: string;
}

/** Whether the element is on screen or close to it. Other charts fetch nothing. */
function useSeen() {
  const box = useRef<HTMLElement>(null);
  const [seen, setSeen] = useState(false);
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const observer = new IntersectionObserver(([entry]) => setSeen(entry?.isIntersecting === true), {
      rootMargin: '200px',
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return { box, seen };
}

/** The colours of lines. Ray's states have the same colours everywhere. */
function looksOf(lines: readonly Line[], known: Map<string, number>, scheme: Scheme) {
  const names = lines.map(({ name }) => name);
  const places = colorsOf(lines.length === 1 ? [''] : names, known, seriesColors.length);
  return names.map((name, at) => {
    const shades = stateColors[name] ?? seriesColors[places[at] ?? 0];
    return { color: shades?.[scheme] ?? '#888888', dashed: at >= seriesColors.length };
  });
}

/**
 * Metrics over time. The chart shares its range and crosshair with the page's other charts (see ChartGroup).
 */
export function MetricChart(props: MetricChartProps) {
  const { title, hint, queries, height = 160, stacked = false, menu, width = 1 } = props;
  const { t } = useTranslation();
  const stateName = useStateName();
  const itemStateName = useItemStateName();
  const [url] = useSessionUrl();
  const { box, seen } = useSeen();
  const { scheme } = usePalette();
  const group = useChartGroup();
  const range = useTimeRange(props.session);
  const chart = useChart(props.session ?? url.session, queries, seen);
  const { data } = chart;
  const unit = props.unit ?? data?.unit ?? '';
  const ended = range.ready && !range.bounds.live;
  const marks = useMarks(props.session ?? url.session);
  const said = useSaid();
  const tall = height >= 260;
  const legend = tall ? 2 * LEGEND : LEGEND;
  const [place, setPlace] = useState<number | null>(null);
  const [focus, setFocus] = useState<number | null>(null);
  const [only, setOnly] = useState<ReadonlySet<string>>(new Set());
  const [asTable, setAsTable] = useState(false);

  const seriesLines = useMemo(
    () => (stacked ? occurring(data?.lines ?? []) : (data?.lines ?? [])),
    [data, stacked],
  );
  const looks = useMemo(
    () => looksOf(seriesLines, group.colors, scheme),
    [seriesLines, group.colors, scheme],
  );
  const lines = useMemo(
    () =>
      seriesLines.map((line) => {
        const name = stateColors[line.name] ? stateName(line.name) : itemStateName(line.name);
        return name === line.name ? line : { ...line, name };
      }),
    [seriesLines, stateName, itemStateName],
  );
  const chosen = lines.some((line) => only.has(line.key));
  const shown = useMemo(() => {
    const places = lines.flatMap((line, at) => (!chosen || only.has(line.key) ? [at] : []));
    const isBold = (at: number) => lines[at]?.bold === true;
    // Bold lines are last, so that they are drawn on top.
    return [...places.filter((at) => !isBold(at)), ...places.filter(isBold)];
  }, [lines, only, chosen]);
  const shownLines = useMemo(() => shown.flatMap((at) => lines[at] ?? []), [lines, shown]);
  const empty = data !== undefined && lines.every((line) => line.values.every((value) => value === null));

  return (
    <figure
      ref={box}
      className={css.chart}
      data-width={width}
      data-outdated={chart.isPlaceholderData || undefined}
      data-testid={props.testId ?? 'chart'}
      data-title={title}
      aria-label={spokenText(title, lines, (line, end) => restText(t, line, end, ended, unit))}
    >
      <figcaption className={css.head} {...NOT_IN_PICTURE}>
        <span className={`${css.title} ${words.ellipsis}`} title={hint ? `${title}\n${hint}` : title}>
          {title}
        </span>
        {data !== undefined && data.leftOut > 0 && (
          <Tooltip label={t('charts.leftOut', { shown: count(lines.length), n: count(data.leftOut) })}>
            <span className={`${css.tag} ${words.num}`} data-testid="chart-left-out">
              {t('charts.shownOf', { shown: count(lines.length), all: count(lines.length + data.leftOut) })}
            </span>
          </Tooltip>
        )}
        {data?.source === 'prometheus' && <span className={css.tag}>Prometheus</span>}
        {data !== undefined && (chart.error !== null || data.warnings.length > 0) && (
          <Tooltip label={said(chart.error, data.warnings)}>
            <IconAlertTriangle size={15} color="var(--rs-tone-waiting)" aria-label={t('charts.warning')} />
          </Tooltip>
        )}
        <Tooltip label={t(asTable ? 'charts.asChart' : 'charts.asTable')}>
          <ActionIcon
            size={24}
            aria-label={t(asTable ? 'charts.asChart' : 'charts.asTable')}
            aria-pressed={asTable}
            onClick={() => setAsTable((now) => !now)}
            data-testid="chart-table-toggle"
          >
            {asTable ? <IconChartLine size={15} /> : <IconTable size={15} />}
          </ActionIcon>
        </Tooltip>
        <ChartMenu title={title} queries={queries} data={data} picture={box}>
          {menu}
        </ChartMenu>
      </figcaption>
      {asTable && data !== undefined ? (
        <ChartTable lines={lines} looks={looks} unit={unit} height={height + legend} />
      ) : (
        <>
          <div className={css.plot} style={{ height }}>
            {data === undefined ? (
              chart.error === null ? (
                <Skeleton height={height - 26} radius="sm" data-testid="chart-loading" />
              ) : (
                <Problem error={chart.error} onRetry={() => void chart.refetch()} />
              )
            ) : empty ? (
              <div className={`${css.empty} ${words.dim}`} data-testid="chart-empty">
                {t(data.lines.length > 0 && lines.length === 0 ? 'charts.zero' : 'charts.empty')}
              </div>
            ) : (
              <Suspense fallback={<Skeleton height={height - 26} radius="sm" />}>
                <ChartCanvas
                  times={data.times}
                  lines={shownLines}
                  colors={shown.map((at) => looks[at] ?? { color: '#888888', dashed: false })}
                  unit={unit}
                  axisTitle={unit === 'count' ? t('charts.number') : undefined}
                  stacked={stacked}
                  threshold={props.threshold}
                  height={height}
                  range={data}
                  marks={marks}
                  syncKey={group.syncKey}
                  focus={focus === null ? null : at(shown, focus)}
                  onPlace={setPlace}
                  onZoom={props.onRange ?? ((next) => range.set({ kind: 'fixed', ...next }))}
                  onReset={range.reset}
                />
              </Suspense>
            )}
          </div>
          <div style={{ minHeight: legend }}>
            {data !== undefined && !empty && (
              <ChartLegend
                lines={lines}
                looks={looks}
                unit={unit}
                ended={ended}
                place={place}
                most={tall ? lines.length : MAX_LEGEND_LINES}
                only={chosen ? only : null}
                onOnly={setOnly}
                onFocus={setFocus}
              />
            )}
          </div>
        </>
      )}
    </figure>
  );
}

/**
 * Space for two rows of the legend (four for a tall chart), px. It is reserved until the legend appears, so
 * that little moves then.
 */
const LEGEND = 46;
/** Number of lines that the legend of a small chart lists until the user asks for more. */
const MAX_LEGEND_LINES = 8;

/** The text of an error of the server or of its warnings. */
function useSaid(): (error: Error | null, warnings: readonly ServerMessage[]) => string {
  const translate = useServerMessage();
  return (error, warnings) => {
    if (error !== null) return error instanceof ApiError ? translate(error).message : error.message;
    return warnings.map((one) => translate(one).message).join('\n');
  };
}

/** The index of a line among the visible ones; null if it is hidden. */
function at(shown: readonly number[], line: number): number | null {
  const place = shown.indexOf(line);
  return place < 0 ? null : place;
}

/** The title and the values of the first lines, for screen readers. */
function spokenText(title: string, lines: Line[], textOf: (line: Line, end: number) => string): string {
  const end = endOf(lines);
  const text = lines.slice(0, 6).map((line) => `${line.name} ${textOf(line, end)}`);
  return text.length === 0 ? title : `${title}: ${text.join(', ')}${lines.length > 6 ? ', …' : ''}`;
}

function Problem({ error, onRetry }: { error: Error; onRetry: () => void }) {
  const { t } = useTranslation();
  const translate = useServerMessage();
  const text = error instanceof ApiError ? translate(error) : null;
  return (
    <div className={css.empty} role="alert" data-testid="chart-error">
      <span className={`${words.breaks} ${css.problem}`}>
        <IconAlertTriangle size={14} aria-hidden /> {text?.message ?? t('error.network')}
      </span>
      {text?.remedy && <span className={`${words.dim} ${words.breaks}`}>{text.remedy}</span>}
      <Button size="compact-xs" variant="default" onClick={onRetry}>
        {t('common.retry')}
      </Button>
    </div>
  );
}
