import { Menu } from '@mantine/core';
import { IconLayoutDashboard, IconPlus } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { withSettings } from '../../base/url';
import { type Dashboard, type DashboardChart, type DashboardSummary, tidied } from '../../ui/charts/boards';
import { formatQueries } from '../../ui/charts/queries';
import { dashboardsChanged, getDashboard, useDashboards } from '../../ui/charts/useMetrics';
import { useOperatorAction } from '../../ui/operator';
import { useSessionUrl } from '../../ui/useUrl';

/** Menu entries that add a chart to an existing dashboard or to a new one. */
export function AddToDashboard({ chart }: { chart: DashboardChart }) {
  const { t } = useTranslation();
  const act = useOperatorAction();
  const [, change] = useSessionUrl();
  const dashboards = useDashboards().data?.items ?? [];

  async function add(board: DashboardSummary): Promise<void> {
    const done = await act<Dashboard>({
      method: 'PUT',
      path: `/dashboards/${encodeURIComponent(board.name)}`,
      body: async () => {
        const { title, charts } = await getDashboard(board.name);
        return { title, charts: tidied([...charts, chart]) };
      },
      title: t('metricsPage.addTitle', { board: board.title }),
      text: t('metricsPage.addText', { chart: chart.title, board: board.title }),
      confirm: t('metricsPage.add'),
    });
    if (done === undefined) return;
    await dashboardsChanged();
    change((before) => withSettings(before, { board: `d.${board.name}`, expr: undefined }));
  }

  return (
    <>
      <Menu.Divider />
      <Menu.Label>{t('metricsPage.addTo')}</Menu.Label>
      {dashboards.slice(0, 12).map((board) => (
        <Menu.Item
          key={board.name}
          leftSection={<IconLayoutDashboard size={14} />}
          onClick={() => void add(board)}
          data-testid="add-to-dashboard"
        >
          {board.title}
        </Menu.Item>
      ))}
      <Menu.Item
        leftSection={<IconPlus size={14} />}
        onClick={() =>
          change((before) =>
            withSettings(before, {
              board: 'new',
              expr: formatQueries(chart.queries.map(({ expr }) => expr)),
            }),
          )
        }
        data-testid="add-to-new"
      >
        {t('metricsPage.newDashboard')}
      </Menu.Item>
    </>
  );
}
