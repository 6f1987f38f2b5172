import { ActionIcon, Button, Select, Switch, TextInput, Tooltip } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { IconArrowDown, IconArrowUp, IconPlus, IconTrash, IconX } from '@tabler/icons-react';
import { useId, useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { withSettings } from '../../base/url';
import {
  boardName,
  type Dashboard,
  type DashboardChart,
  moved,
  problemOf,
  tidied,
  UNITS,
} from '../../ui/charts/boards';
import { MetricChart } from '../../ui/charts/MetricChart';
import type { Query } from '../../ui/charts/series';
import { dashboardsChanged, useDashboards } from '../../ui/charts/useMetrics';
import { useOperatorAction } from '../../ui/operator';
import { useSessionUrl } from '../../ui/useUrl';
import { asWidth } from './Board';
import css from './DashboardEditor.module.css';
import shared from './metrics.module.css';

/** A chart while it is edited; `id` stays when it is moved. */
type Draft = DashboardChart & { id: number };

const NEW: DashboardChart = { title: '', queries: [{ expr: '' }], unit: '', width: 1 };

/** Makes a dashboard, or changes one. `begun` is an expression to begin a new one with. */
export function DashboardEditor({ board, begun }: { board?: Dashboard; begun?: string }) {
  const { t } = useTranslation();
  const [, change] = useSessionUrl();
  const act = useOperatorAction();
  const taken = useDashboards().data?.items.map(({ name }) => name) ?? [];
  const [title, setTitle] = useState(board?.title ?? '');
  const [charts, setCharts] = useState<Draft[]>(() => {
    const first = begun ? [{ ...NEW, title: begun.slice(0, 60), queries: [{ expr: begun }] }] : [NEW];
    return (board?.charts ?? first).map((chart, id) => ({ ...chart, id }));
  });
  const [tried, setTried] = useState(false);
  const problem = problemOf({ title, charts });
  const name = board?.name ?? boardName(title, taken);
  const leave = (to: string) => change((before) => withSettings(before, { board: to, expr: undefined }));
  const set = (id: number, next: Partial<DashboardChart>) =>
    setCharts((now) => now.map((chart) => (chart.id === id ? { ...chart, ...next } : chart)));

  async function save(): Promise<void> {
    setTried(true);
    if (problem !== null) return;
    const done = await act<Dashboard>({
      method: 'PUT',
      path: `/dashboards/${encodeURIComponent(name)}`,
      body: {
        title: title.trim(),
        charts: tidied(charts).map(({ id: _, ...chart }: DashboardChart & { id?: number }) => chart),
      },
      title: t('metricsPage.saveTitle'),
      text: t('metricsPage.saveText', { board: title.trim(), file: `dashboards/${name}.json` }),
      confirm: t('metricsPage.save'),
    });
    if (done === undefined) return;
    await dashboardsChanged();
    leave(`d.${name}`);
  }

  return (
    <div className={css.editor} data-testid="dashboard-editor">
      <div className={shared.dashboardHead}>
        <TextInput
          className={css.title}
          aria-label={t('metricsPage.boardTitle')}
          placeholder={t('metricsPage.boardTitle')}
          value={title}
          maxLength={100}
          onChange={(event) => setTitle(event.currentTarget.value)}
          error={tried && problem === 'noTitle' ? t('metricsPage.problem.noTitle') : undefined}
          data-testid="board-title"
        />
        <Button size="compact-sm" onClick={() => void save()} data-testid="board-save">
          {t('metricsPage.save')}
        </Button>
        <Button
          size="compact-sm"
          variant="default"
          onClick={() => leave(board === undefined ? 'dashboards' : `d.${board.name}`)}
        >
          {t('operator.cancel')}
        </Button>
      </div>
      {tried && problem !== null && problem !== 'noTitle' && (
        <p className={shared.editorProblem} role="alert">
          {t(`metricsPage.problem.${problem}`)}
        </p>
      )}
      <ol className="rs-plain">
        {charts.map((chart, at) => (
          <ChartFields
            key={chart.id}
            chart={chart}
            first={at === 0}
            last={at === charts.length - 1}
            onChange={(next) => set(chart.id, next)}
            onMove={(by) => setCharts((now) => moved(now, at, by))}
            onRemove={() => setCharts((now) => now.filter(({ id }) => id !== chart.id))}
          />
        ))}
      </ol>
      <Button
        size="compact-sm"
        variant="light"
        leftSection={<IconPlus size={14} />}
        onClick={() =>
          setCharts((now) => [...now, { ...NEW, id: Math.max(0, ...now.map(({ id }) => id)) + 1 }])
        }
        data-testid="board-add-chart"
      >
        {t('metricsPage.addChart')}
      </Button>
    </div>
  );
}

function ChartFields(props: {
  chart: Draft;
  first: boolean;
  last: boolean;
  onChange: (next: Partial<DashboardChart>) => void;
  onMove: (by: number) => void;
  onRemove: () => void;
}) {
  const { chart, onChange } = props;
  const { t } = useTranslation();
  const [queries] = useDebouncedValue(chart.queries, 600);
  const drawable = useMemo(() => queries.filter(({ expr }) => expr.trim() !== ''), [queries]);
  const id = useId();
  const setQuery = (at: number, next: Partial<Query>) =>
    onChange({
      queries: chart.queries.map((query, place) => (place === at ? { ...query, ...next } : query)),
    });
  return (
    <li className={css.chart} aria-labelledby={id} data-testid="editor-chart">
      <div className={css.fields}>
        <div className={css.row}>
          <TextInput
            id={id}
            size="xs"
            className={css.grow}
            label={t('metricsPage.chartTitle')}
            value={chart.title}
            maxLength={100}
            onChange={(event) => onChange({ title: event.currentTarget.value })}
            data-testid="chart-title"
          />
          <Select
            size="xs"
            w={140}
            label={t('metricsPage.unit')}
            data={UNITS.map((unit) => ({
              value: unit || 'auto',
              label: t(`metricsPage.units.${unit || 'auto'}`),
            }))}
            value={chart.unit || 'auto'}
            allowDeselect={false}
            onChange={(unit) => onChange({ unit: unit === 'auto' ? '' : (unit ?? '') })}
          />
          <Select
            size="xs"
            w={96}
            label={t('metricsPage.width')}
            data={['1', '2', '3'].map((width) => ({
              value: width,
              label: t('metricsPage.columns', { n: width }),
            }))}
            value={String(asWidth(chart.width))}
            allowDeselect={false}
            onChange={(width) => onChange({ width: asWidth(Number(width)) })}
            data-testid="chart-width"
          />
          <Switch
            size="xs"
            className={css.switch}
            label={t('metricsPage.stacked')}
            checked={chart.stacked === true}
            onChange={(event) => onChange({ stacked: event.currentTarget.checked })}
          />
          <Tools {...props} />
        </div>
        {chart.queries.map((query, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: lines have no name of their own.
          <div key={at} className={css.row}>
            <TextInput
              size="xs"
              className={`${css.grow} ${css.expr}`}
              label={at === 0 ? t('metricsPage.expr') : undefined}
              aria-label={t('metricsPage.expr')}
              value={query.expr}
              spellCheck={false}
              onChange={(event) => setQuery(at, { expr: event.currentTarget.value })}
              data-testid="chart-expr"
            />
            <TextInput
              size="xs"
              w={170}
              label={at === 0 ? t('metricsPage.legend') : undefined}
              aria-label={t('metricsPage.legend')}
              placeholder="{{node_ip}}"
              value={query.legend ?? ''}
              spellCheck={false}
              onChange={(event) => setQuery(at, { legend: event.currentTarget.value || undefined })}
            />
            {chart.queries.length > 1 && (
              <ActionIcon
                size={30}
                aria-label={t('metricsPage.removeLine')}
                title={t('metricsPage.removeLine')}
                onClick={() => onChange({ queries: chart.queries.filter((_, place) => place !== at) })}
              >
                <IconX size={15} />
              </ActionIcon>
            )}
          </div>
        ))}
        {chart.queries.length < 8 && (
          <Button
            size="compact-xs"
            variant="subtle"
            leftSection={<IconPlus size={13} />}
            onClick={() => onChange({ queries: [...chart.queries, { expr: '' }] })}
          >
            {t('metricsPage.addLine')}
          </Button>
        )}
      </div>
      <div className={css.preview}>
        {drawable.length > 0 && (
          <MetricChart
            title={chart.title || '…'}
            queries={drawable}
            unit={chart.unit || undefined}
            stacked={chart.stacked}
            height={120}
          />
        )}
      </div>
    </li>
  );
}

function Tools(props: { first: boolean; last: boolean; onMove: (by: number) => void; onRemove: () => void }) {
  const { t } = useTranslation();
  const tool = (
    key: 'up' | 'down' | 'remove',
    icon: React.ReactNode,
    disabled: boolean,
    onClick: () => void,
  ) => (
    <Tooltip label={t(`metricsPage.${key}`)}>
      <ActionIcon
        size={30}
        aria-label={t(`metricsPage.${key}`)}
        disabled={disabled}
        onClick={onClick}
        data-testid={`chart-${key}`}
      >
        {icon}
      </ActionIcon>
    </Tooltip>
  );
  return (
    <div className={css.tools}>
      {tool('up', <IconArrowUp size={15} />, props.first, () => props.onMove(-1))}
      {tool('down', <IconArrowDown size={15} />, props.last, () => props.onMove(1))}
      {tool('remove', <IconTrash size={15} />, false, props.onRemove)}
    </div>
  );
}
