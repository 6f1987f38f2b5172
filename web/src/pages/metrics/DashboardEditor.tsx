import { Button, TextInput } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { withSettings } from '../../base/url';
import {
  boardName,
  type Dashboard,
  type DashboardChart,
  moved,
  problemOf,
  tidied,
} from '../../ui/charts/boards';
import { parseQueries } from '../../ui/charts/queries';
import { dashboardsChanged, useDashboards } from '../../ui/charts/useMetrics';
import { useOperatorAction } from '../../ui/operator';
import { useSessionUrl } from '../../ui/useUrl';
import { ChartFields, type Draft } from './ChartFields';
import css from './DashboardEditor.module.css';
import shared from './metrics.module.css';

const EMPTY_CHART: DashboardChart = { title: '', queries: [{ expr: '' }], unit: '', width: 1 };

/** Creates or edits a dashboard. A new one can start with queries from the explorer (`begun`). */
export function DashboardEditor({ board, begun }: { board?: Dashboard; begun?: string }) {
  const { t } = useTranslation();
  const [, change] = useSessionUrl();
  const act = useOperatorAction();
  const taken = useDashboards().data?.items.map(({ name }) => name) ?? [];
  const [title, setTitle] = useState(board?.title ?? '');
  const [charts, setCharts] = useState<Draft[]>(() => {
    const queries = parseQueries(begun).map((expr) => ({ expr }));
    const first =
      queries.length > 0
        ? { ...EMPTY_CHART, title: queries[0]?.expr.slice(0, 60) ?? '', queries }
        : EMPTY_CHART;
    return (board?.charts ?? [first]).map((chart, id) => ({ ...chart, id }));
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
      <ol>
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
          setCharts((now) => [...now, { ...EMPTY_CHART, id: Math.max(0, ...now.map(({ id }) => id)) + 1 }])
        }
        data-testid="board-add-chart"
      >
        {t('metricsPage.addChart')}
      </Button>
    </div>
  );
}
