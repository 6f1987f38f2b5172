import { IconChartLine } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { isMissing } from '../../api/client';
import { withSettings } from '../../base/url';
import { ChartGroup } from '../../ui/charts/ChartGroup';
import { useCatalogue, useDashboard } from '../../ui/charts/useMetrics';
import { EmptyState } from '../../ui/EmptyState';
import { ErrorPanel } from '../../ui/ErrorPanel';
import { Link } from '../../ui/Link';
import layout from '../../ui/theme/layout.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import { Board } from './Board';
import { Collectors } from './Collectors';
import { DashboardEditor } from './DashboardEditor';
import { DashboardBoard, Dashboards } from './Dashboards';
import { Explorer } from './Explorer';

/**
 * Metrics over time. `board` in the URL selects the content: a page of the server's catalogue by its name,
 * `explore`, `dashboards`, `d.NAME` (a dashboard), `e.NAME` (its editor), or `new`.
 */
export default function MetricsPage() {
  const { t, i18n } = useTranslation();
  const [url] = useSessionUrl();
  const catalogue = useCatalogue();
  const pages = catalogue.data?.pages ?? [];
  const board = url.settings?.board ?? pages[0]?.name ?? 'cluster';
  const page = pages.find(({ name }) => name === board);
  const own = /^[de]\./.test(board) || board === 'new' || board === 'dashboards';
  const opened = useDashboard(/^[de]\./.test(board) ? board.slice(2) : undefined);
  const dashboard = opened.data;
  const tabs: [string, string, boolean][] = [
    ...pages.map(({ name, title }): [string, string, boolean] => [
      name,
      i18n.exists(`metricsPage.page.${name}`)
        ? t(`metricsPage.page.${name}` as 'metricsPage.page.cluster')
        : title,
      name === board,
    ]),
    ['explore', t('metricsPage.explore'), board === 'explore'],
    ['dashboards', t('metricsPage.dashboards'), own],
  ];
  return (
    <div className={layout.scrollPage} data-testid="metrics-page">
      <ChartGroup
        sticky
        beside={
          <nav className={layout.tabs} aria-label={t('nav.metrics')}>
            {tabs.map(([name, text, current]) => (
              <Link
                key={name}
                to={withSettings({ ...url, item: undefined }, { board: name })}
                className={layout.tab}
                current={current}
                testId={`board-${name}`}
              >
                {text}
              </Link>
            ))}
          </nav>
        }
      >
        <Collectors />
        {catalogue.error !== null && catalogue.data === undefined && !own && board !== 'explore' && (
          <ErrorPanel error={catalogue.error} onRetry={() => void catalogue.refetch()} />
        )}
        {page !== undefined && <Board key={page.name} page={page} />}
        {board === 'explore' && <Explorer />}
        {board === 'dashboards' && <Dashboards />}
        {board === 'new' && <DashboardEditor begun={url.settings?.expr} />}
        {board.startsWith('d.') && dashboard !== undefined && (
          <DashboardBoard key={dashboard.name} board={dashboard} />
        )}
        {board.startsWith('e.') && dashboard !== undefined && (
          <DashboardEditor key={dashboard.name} board={dashboard} />
        )}
        {isMissing(opened.error) && (
          <EmptyState icon={<IconChartLine size={26} />} title={t('metricsPage.noSuchBoard')}>
            <Link to={withSettings(url, { board: 'dashboards' })}>{t('metricsPage.dashboards')}</Link>
          </EmptyState>
        )}
        {opened.error !== null && dashboard === undefined && !isMissing(opened.error) && (
          <ErrorPanel error={opened.error} onRetry={() => void opened.refetch()} />
        )}
      </ChartGroup>
    </div>
  );
}
