import { useTranslation } from 'react-i18next';
import { ChartGrid } from '../../ui/charts/ChartGroup';
import { MetricChart } from '../../ui/charts/MetricChart';
import { Section } from '../../ui/Drawer';
import library from '../../ui/theme/library.module.css';
import { labels, quantileOf, rateOf } from './serve';

const DEPLOYMENT = 'ray_serve_deployment_processing_latency_ms';
const HTTP = 'ray_serve_http_request_latency_ms';
const QUANTILES = [
  ['p50', 0.5],
  ['p95', 0.95],
  ['p99', 0.99],
] as const;

/** Latency, requests and errors by deployment, and by route as the proxies saw them: Serve's own series. */
export function RequestCharts({ application }: { application: string }) {
  const { t } = useTranslation();
  const of = labels({ application });
  const byDeployment = [
    ...QUANTILES.map(([name, q]) => ({
      title: t('serve.charts.latency', { quantile: name }),
      expr: quantileOf(q, DEPLOYMENT, of, 'deployment'),
      unit: 's',
    })),
    {
      title: t('serve.charts.requests'),
      expr: `sum by (deployment) (rate(${DEPLOYMENT}_count${of}[1m]))`,
      unit: 'count/s',
    },
    {
      title: t('serve.charts.errors'),
      expr: rateOf('ray_serve_deployment_error_counter', of, 'deployment'),
      unit: 'count/s',
    },
    {
      title: t('serve.charts.utilization'),
      expr: `avg by (deployment) (ray_serve_replica_utilization_percent${of})`,
      unit: 'percent',
    },
  ];
  const errors = rateOf('ray_serve_num_http_error_requests', of, 'route');
  return (
    <>
      <Section title={t('serve.byDeployment')}>
        <div className={library.charts} data-testid="deployment-charts">
          <ChartGrid>
            {byDeployment.map(({ title, expr, unit }) => (
              <MetricChart
                key={title}
                title={title}
                queries={[{ expr, legend: '{{deployment}}' }]}
                unit={unit}
                height={130}
              />
            ))}
          </ChartGrid>
        </div>
      </Section>
      <Section title={t('serve.byRoute')}>
        <div className={library.charts} data-testid="route-charts">
          <ChartGrid>
            <MetricChart
              title={t('serve.charts.httpLatency')}
              queries={QUANTILES.map(([name, q]) => ({
                expr: quantileOf(q, HTTP, of, 'route'),
                legend: `{{route}} ${name}`,
              }))}
              unit="s"
              height={130}
            />
            <MetricChart
              title={t('serve.charts.requests')}
              queries={[
                {
                  expr: rateOf('ray_serve_num_http_requests', of, 'route, method'),
                  legend: '{{method}} {{route}}',
                },
              ]}
              unit="count/s"
              height={130}
            />
            <MetricChart
              title={t('serve.charts.errors')}
              queries={[{ expr: errors, legend: '{{route}}' }]}
              unit="count/s"
              height={130}
            />
          </ChartGrid>
        </div>
      </Section>
    </>
  );
}
