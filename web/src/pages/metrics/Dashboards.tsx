import { Button } from '@mantine/core';
import { IconLayoutDashboard, IconPencil, IconPlus, IconTrash } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { count } from '../../base/format';
import { withSettings } from '../../base/url';
import type { Dashboard } from '../../ui/charts/boards';
import { ChartGrid } from '../../ui/charts/ChartGroup';
import { MetricChart } from '../../ui/charts/MetricChart';
import { dashboardsChanged, useDashboards } from '../../ui/charts/useMetrics';
import { EmptyState } from '../../ui/EmptyState';
import { ErrorPanel } from '../../ui/ErrorPanel';
import { Link } from '../../ui/Link';
import { useOperatorAction } from '../../ui/operator';
import { Time } from '../../ui/Time';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import { AddToDashboard } from './AddToDashboard';
import { asWidth } from './Board';
import css from './Dashboards.module.css';
import shared from './metrics.module.css';

/** The list of the users' dashboards. */
export function Dashboards() {
  const { t } = useTranslation();
  const [url] = useSessionUrl();
  const dashboards = useDashboards();
  const items = dashboards.data?.items;
  if (items === undefined)
    return dashboards.error === null ? null : (
      <ErrorPanel error={dashboards.error} onRetry={() => void dashboards.refetch()} />
    );
  return (
    <div className={css.dashboards} data-testid="dashboards">
      {items.length === 0 && (
        <EmptyState icon={<IconLayoutDashboard size={26} />} title={t('metricsPage.noDashboards')}>
          {t('metricsPage.noDashboardsText')}
        </EmptyState>
      )}
      {(dashboards.data?.unreadable.length ?? 0) > 0 && (
        <p className={shared.editorProblem}>
          {t('metricsPage.unreadable', { files: dashboards.data?.unreadable.join(', ') })}
        </p>
      )}
      <ul className={css.list}>
        {items.map((board) => (
          <li key={board.name}>
            <Link
              to={withSettings(url, { board: `d.${board.name}` })}
              className={css.card}
              testId="dashboard-card"
            >
              <IconLayoutDashboard size={18} aria-hidden />
              <span className={words.ellipsis}>{board.title}</span>
              <span className={`${words.dim} ${words.num}`}>
                {t('metricsPage.charts', { n: count(board.charts_total) })} · <Time ns={board.changed_ns} />
              </span>
            </Link>
          </li>
        ))}
      </ul>
      <Link
        to={withSettings(url, { board: 'new', expr: undefined })}
        className={`${words.link} ${css.new}`}
        testId="dashboard-new"
      >
        <IconPlus size={15} aria-hidden /> {t('metricsPage.newDashboard')}
      </Link>
    </div>
  );
}

/** A single dashboard. */
export function DashboardBoard({ board }: { board: Dashboard }) {
  const { t } = useTranslation();
  const [, change] = useSessionUrl();
  const act = useOperatorAction();

  async function remove(): Promise<void> {
    const done = await act({
      method: 'DELETE',
      path: `/dashboards/${encodeURIComponent(board.name)}`,
      title: t('metricsPage.deleteTitle'),
      text: t('metricsPage.deleteText', { board: board.title }),
      confirm: t('metricsPage.delete'),
      danger: true,
    });
    if (done === undefined) return;
    await dashboardsChanged();
    change((before) => withSettings(before, { board: 'dashboards' }));
  }

  return (
    <div data-testid="dashboard" data-name={board.name}>
      <div className={shared.dashboardHead}>
        <h2 className={words.ellipsis}>{board.title}</h2>
        <Button
          size="compact-sm"
          variant="default"
          leftSection={<IconPencil size={14} />}
          onClick={() => change((before) => withSettings(before, { board: `e.${board.name}` }))}
          data-testid="dashboard-edit"
        >
          {t('metricsPage.edit')}
        </Button>
        <Button
          size="compact-sm"
          variant="subtle"
          color="red"
          leftSection={<IconTrash size={14} />}
          onClick={() => void remove()}
          data-testid="dashboard-delete"
        >
          {t('metricsPage.delete')}
        </Button>
      </div>
      {board.charts.length === 0 ? (
        <EmptyState icon={<IconLayoutDashboard size={26} />} title={t('metricsPage.emptyBoard')} />
      ) : (
        <ChartGrid>
          {board.charts.map((chart, at) => (
            <MetricChart
              // biome-ignore lint/suspicious/noArrayIndexKey: charts have no name of their own.
              key={at}
              title={chart.title}
              queries={chart.queries}
              unit={chart.unit || undefined}
              stacked={chart.stacked}
              width={asWidth(chart.width)}
              menu={<AddToDashboard chart={chart} />}
            />
          ))}
        </ChartGrid>
      )}
    </div>
  );
}
