import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { labels } from '../../ui/charts/boards';
import { ChartGrid } from '../../ui/charts/ChartGroup';
import { MetricChart } from '../../ui/charts/MetricChart';
import type { Query } from '../../ui/charts/series';
import { WhereMeasured } from '../../ui/charts/WhereMeasured';
import { Section } from '../../ui/Drawer';
import library from '../../ui/theme/library.module.css';
import words from '../../ui/theme/words.module.css';
import { meanOf, quantileOf, rateOf } from './serve';

const DEPLOYMENT = 'ray_serve_deployment_processing_latency_ms';
const HTTP = 'ray_serve_http_request_latency_ms';
const MODELS = 'ray_serve_num_multiplexed_models';
const BATCH = 'ray_serve_actual_batch_size';
const QUANTILES = [
  ['p50', 0.5],
  ['p95', 0.95],
  ['p99', 0.99],
] as const;

/**
 * Charts of Serve's own metrics of an application: by deployment, by route at the proxies, and of models and
 * batches.
 */
export function RequestCharts({ application }: { application: string }) {
  const { t } = useTranslation();
  const of = labels({ application });
  const none = (
    <Section title={t('serve.byDeployment')}>
      <p className={words.dim} data-testid="no-requests">
        {t('serve.noRequests')}
      </p>
    </Section>
  );
  return (
    <>
      <WhereMeasured metric={`${DEPLOYMENT}_count`} of={of} otherwise={none}>
        <Deployments of={of} />
      </WhereMeasured>
      <WhereMeasured metric={`${HTTP}_count`} of={of}>
        <Routes of={of} />
      </WhereMeasured>
      <WhereMeasured metric={`${BATCH}_count`} of={of}>
        <Batches of={of} />
      </WhereMeasured>
      <WhereMeasured metric={MODELS} of={of}>
        <Models of={of} />
      </WhereMeasured>
    </>
  );
}

function Deployments({ of }: { of: string }) {
  const { t } = useTranslation();
  const by = (expr: string): Query[] => [{ expr, legend: '{{deployment}}' }];
  return (
    <Charts title={t('serve.byDeployment')} testId="deployment-charts">
      {QUANTILES.map(([quantile, q]) => (
        <Small
          key={quantile}
          title={t('serve.charts.latency', { quantile })}
          queries={by(quantileOf(q, DEPLOYMENT, of, 'deployment'))}
          unit="s"
        />
      ))}
      <Small
        title={t('serve.charts.requests')}
        queries={by(`sum by (deployment) (rate(${DEPLOYMENT}_count${of}[1m]))`)}
        unit="count/s"
      />
      <Small
        title={t('serve.charts.errors')}
        queries={by(rateOf('ray_serve_deployment_error_counter', of, 'deployment'))}
        unit="count/s"
      />
      <Small
        title={t('serve.charts.utilization')}
        queries={by(`avg by (deployment) (ray_serve_replica_utilization_percent${of})`)}
        unit="percent"
      />
    </Charts>
  );
}

function Routes({ of }: { of: string }) {
  const { t } = useTranslation();
  return (
    <Charts title={t('serve.byRoute')} testId="route-charts">
      <Small
        title={t('serve.charts.httpLatency')}
        queries={QUANTILES.map(([name, q]) => ({
          expr: quantileOf(q, HTTP, of, 'route'),
          legend: `{{route}} ${name}`,
        }))}
        unit="s"
      />
      <Small
        title={t('serve.charts.requests')}
        queries={[
          {
            expr: rateOf('ray_serve_num_http_requests', of, 'route, method'),
            legend: '{{method}} {{route}}',
          },
        ]}
        unit="count/s"
      />
      <Small
        title={t('serve.charts.errors')}
        queries={[{ expr: rateOf('ray_serve_num_http_error_requests', of, 'route'), legend: '{{route}}' }]}
        unit="count/s"
      />
    </Charts>
  );
}

/**
 * Charts of methods with `@serve.batch`. Ray counts each batch size as the middle of its bucket, which for
 * whole numbers is half a unit below the size, so 0.5 is added.
 */
function Batches({ of }: { of: string }) {
  const { t } = useTranslation();
  const name = 'deployment, function_name';
  const by = (expr: string): Query[] => [{ expr, legend: '{{deployment}}.{{function_name}}' }];
  return (
    <Charts title={t('serve.batches')} testId="batch-charts">
      <Small
        title={t('serve.charts.batchSize')}
        hint={t('serve.charts.batchHint')}
        queries={by(`${meanOf(BATCH, of, name)} + 0.5`)}
        unit="count"
      />
      <Small
        title={t('serve.charts.batchFull')}
        hint={t('serve.charts.batchHint')}
        queries={by(meanOf('ray_serve_batch_utilization_percent', of, name))}
        unit="percent"
      />
      <Small
        title={t('serve.charts.batches')}
        queries={by(`sum by (${name}) (rate(${BATCH}_count${of}[1m]))`)}
        unit="count/s"
      />
      <Small
        title={t('serve.charts.batchWait')}
        queries={by(quantileOf(0.95, 'ray_serve_batch_wait_time_ms', of, name))}
        unit="s"
      />
      <Small
        title={t('serve.charts.batchTime')}
        queries={by(quantileOf(0.95, 'ray_serve_batch_execution_time_ms', of, name))}
        unit="s"
      />
      <Small
        title={t('serve.charts.batchQueue')}
        queries={by(`sum by (${name}) (ray_serve_batch_queue_length${of})`)}
        unit="count"
      />
    </Charts>
  );
}

/** Charts of methods with `@serve.multiplexed`. */
function Models({ of }: { of: string }) {
  const { t } = useTranslation();
  const by = (expr: string, legend = '{{deployment}}'): Query => ({ expr, legend });
  return (
    <Charts title={t('serve.models')} testId="model-charts">
      <Small
        title={t('serve.charts.models')}
        queries={[by(`sum by (deployment) (${MODELS}${of})`)]}
        unit="count"
      />
      <Small
        title={t('serve.charts.modelReplicas')}
        queries={[by(`sum by (model_id) (ray_serve_registered_multiplexed_model_id${of})`, '{{model_id}}')]}
        unit="count"
      />
      <Small
        title={t('serve.charts.modelRequests')}
        queries={[by(rateOf('ray_serve_multiplexed_get_model_requests_counter', of, 'deployment'))]}
        unit="count/s"
      />
      <Small
        title={t('serve.charts.modelLoads')}
        queries={[
          by(
            rateOf('ray_serve_multiplexed_models_load_counter', of, 'deployment'),
            `${t('serve.charts.loaded')}: {{deployment}}`,
          ),
          by(
            rateOf('ray_serve_multiplexed_models_unload_counter', of, 'deployment'),
            `${t('serve.charts.unloaded')}: {{deployment}}`,
          ),
        ]}
        unit="count/s"
      />
      <Small
        title={t('serve.charts.loadTime')}
        queries={[by(quantileOf(0.95, 'ray_serve_multiplexed_model_load_latency_ms', of, 'deployment'))]}
        unit="s"
      />
      <Small
        title={t('serve.charts.unloadTime')}
        queries={[by(quantileOf(0.95, 'ray_serve_multiplexed_model_unload_latency_ms', of, 'deployment'))]}
        unit="s"
      />
    </Charts>
  );
}

function Charts(props: { title: string; testId: string; children: ReactNode }) {
  return (
    <Section title={props.title}>
      <div className={library.charts} data-testid={props.testId}>
        <ChartGrid>{props.children}</ChartGrid>
      </div>
    </Section>
  );
}

function Small(props: { title: string; hint?: string; queries: Query[]; unit: string }) {
  return <MetricChart {...props} height={130} />;
}
