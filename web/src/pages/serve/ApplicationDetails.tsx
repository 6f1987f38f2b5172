import { useTranslation } from 'react-i18next';
import { useAnswer } from '../../api/queries';
import type { ServeApplicationAnswer } from '../../api/schema';
import { count } from '../../base/format';
import { toView } from '../../base/url';
import { ChartGroup } from '../../ui/charts/ChartGroup';
import { Section } from '../../ui/Drawer';
import { ErrorPanel } from '../../ui/ErrorPanel';
import { ItemState } from '../../ui/ItemState';
import { Link } from '../../ui/Link';
import { Time } from '../../ui/Time';
import library from '../../ui/theme/library.module.css';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import { Json } from '../../ui/Value';
import { Autoscaler } from './Autoscaler';
import { ChangeTable } from './ChangeTable';
import { DeploymentGraph } from './DeploymentGraph';
import { ReplicaTable } from './ReplicaTable';
import { RequestCharts } from './RequestCharts';
import { SlowRequests } from './SlowRequests';
import css from './serve.module.css';

/** An application: its deployments and their calls, its requests, its autoscaler and its replicas. */
export function ApplicationDetails({ name }: { name: string }) {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  const { data, error } = useAnswer('/serve/{application}', { application: name, session: url.session });
  if (data === undefined) return error === null ? null : <ErrorPanel error={error} />;
  return (
    <div data-testid="application-details">
      <Head application={data} />
      <Section title={t('serve.deployments')} right={<Topology application={data} />}>
        <DeploymentGraph application={data} />
      </Section>
      <SlowRequests application={name} />
      <ChartGroup>
        <RequestCharts application={name} />
        <Autoscaler application={data} />
      </ChartGroup>
      <Section
        title={t('serve.replicas')}
        right={
          data.replicas_total > data.replicas.length &&
          t('serve.someReplicas', { n: count(data.replicas.length), all: count(data.replicas_total) })
        }
      >
        <ReplicaTable replicas={data.replicas} />
      </Section>
      <Section title={t('serve.changes')}>
        <ChangeTable application={data} />
      </Section>
      <Section title={t('serve.config')}>
        <Configuration application={data} />
      </Section>
    </div>
  );
}

function Head({ application }: { application: ServeApplicationAnswer }) {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  return (
    <>
      <header className={library.head}>
        <h2 className={library.name} data-testid="application-name">
          {application.name}
        </h2>
        <ItemState state={application.state} />
        <span className={words.dim}>
          {application.end_known_by === null ? (
            <>
              {t('serve.since')} <Time ns={application.since_ns} />
            </>
          ) : (
            t('serve.cutOff')
          )}
        </span>
        {application.route_prefix !== null && <span className={words.mono}>{application.route_prefix}</span>}
        <span className={library.ways}>
          {(['failures', 'logs', 'gantt', 'alerts'] as const).map((view) => (
            <Link key={view} to={toView(url, view)} className={words.link}>
              {t(`nav.${view}`)}
            </Link>
          ))}
        </span>
      </header>
      {application.message !== null && (
        <pre className={`${words.pre} ${css.message}`} data-testid="application-message">
          {application.message}
        </pre>
      )}
    </>
  );
}

/** A note that the calls between deployments are unknown, if that is so. */
function Topology({ application: { deployments } }: { application: ServeApplicationAnswer }) {
  const { t } = useTranslation();
  return deployments.length > 1 && deployments.every((one) => one.calls === null)
    ? t('serve.noTopology')
    : null;
}

function Configuration({ application }: { application: ServeApplicationAnswer }) {
  const { t } = useTranslation();
  const documents: [string, unknown][] = [
    ...(application.config === null ? [] : [[t('serve.submitted'), application.config] as [string, unknown]]),
    ...application.deployments.flatMap(({ name, config, required_resources: resources }) => [
      [name, { ...config, ...(resources && { required_resources: resources }) }] as [string, unknown],
    ]),
  ];
  return (
    <div className={css.configs} data-testid="serve-config">
      {documents.map(([name, document]) => (
        <details key={name}>
          <summary>{name}</summary>
          <Json value={document} />
        </details>
      ))}
    </div>
  );
}
