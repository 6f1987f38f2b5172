import { useTranslation } from 'react-i18next';
import type { ServeApplicationAnswer } from '../../api/schema';
import { labels } from '../../ui/charts/boards';
import { MetricChart } from '../../ui/charts/MetricChart';
import { Section } from '../../ui/Drawer';
import { Json } from '../../ui/Value';
import { isAutoscaled } from './serve';
import css from './serve.module.css';

/** Maximum number of deployments with charts. More would be too many to read. */
const MAX_DEPLOYMENTS = 8;

/** Target and actual number of replicas, and the requests on which the autoscaler bases its decision. */
export function Autoscaler({ application }: { application: ServeApplicationAnswer }) {
  const { t } = useTranslation();
  const autoscaled = application.deployments.filter(isAutoscaled).slice(0, MAX_DEPLOYMENTS);
  if (autoscaled.length === 0) return null;
  return autoscaled.map(({ name, deployment_id, config, autoscaling }) => {
    const of = labels({ application: application.name, deployment: name });
    const limits = config?.autoscaling_config as Record<string, unknown> | undefined;
    return (
      <Section
        key={deployment_id}
        title={t('serve.autoscaler', { name })}
        right={
          limits !== undefined &&
          t('serve.limits', {
            min: String(limits.min_replicas ?? '–'),
            max: String(limits.max_replicas ?? '–'),
            ongoing: String(limits.target_ongoing_requests ?? '–'),
          })
        }
      >
        <div className={css.below} data-testid="autoscaler">
          <MetricChart
            title={t('serve.charts.replicas')}
            queries={[
              {
                expr: `max(rayscope_serve_target_replicas${of}) or max(ray_serve_autoscaling_target_replicas${of})`,
                legend: t('serve.charts.target'),
              },
              {
                expr: `max(ray_serve_autoscaling_desired_replicas${of})`,
                legend: t('serve.charts.desired'),
              },
              { expr: `max(rayscope_serve_running_replicas${of})`, legend: t('serve.charts.running') },
            ]}
            unit="count"
            height={130}
          />
          <MetricChart
            title={t('serve.charts.load')}
            queries={[
              { expr: `sum(ray_serve_replica_processing_queries${of})`, legend: t('serve.charts.ongoing') },
              { expr: `sum(ray_serve_deployment_queued_queries${of})`, legend: t('serve.charts.queued') },
            ]}
            unit="count"
            height={130}
          />
        </div>
        {autoscaling !== null && <Json value={autoscaling} />}
      </Section>
    );
  });
}
