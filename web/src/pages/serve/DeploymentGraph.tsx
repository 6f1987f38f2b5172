import { useTranslation } from 'react-i18next';
import type { ServeApplicationAnswer, ServeCalls, ServeDeployment } from '../../api/schema';
import { count, duration, percent } from '../../base/format';
import { toView } from '../../base/url';
import { Badge } from '../../ui/Badge';
import { CardGraph } from '../../ui/CardGraph';
import { ItemState } from '../../ui/ItemState';
import { Link } from '../../ui/Link';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import { callsOutside, callsWithin, lastLine, reasonOf, stateOf } from './serve';
import css from './serve.module.css';

/** Width of a card, CSS px; must match serve.module.css. */
const WIDTH = 232;
const HEIGHT = 90;
const HEIGHT_WITH_REASONS = 124;

/** The deployments as cards, with the ingress at the left and arrows for the calls. */
export function DeploymentGraph({ application }: { application: ServeApplicationAnswer }) {
  const { t } = useTranslation();
  const { deployments, edges } = application;
  const calls = callsWithin(deployments, edges);
  const height = deployments.some((one) => reasonOf(one) ?? callsOutside(one, deployments)[0])
    ? HEIGHT_WITH_REASONS
    : HEIGHT;
  const card = (one: ServeDeployment) => (
    <Card key={one.deployment_id} application={application} deployment={one} height={height} />
  );
  if (calls.length === 0)
    return (
      <div className={css.cards} data-testid="deployment-graph">
        {deployments.map(card)}
      </div>
    );
  const ingressFirst = [...deployments].sort((a, b) => Number(b.is_ingress) - Number(a.is_ingress));
  return (
    <CardGraph
      cards={new Map(ingressFirst.map((one) => [one.deployment_id, card(one)]))}
      links={calls}
      notes={edges.map((one) => ({
        from: one.caller,
        to: one.callee,
        note: <CallNote calls={one} />,
        title: [
          `${one.caller.replace('#', ' / ')} → ${one.callee.replace('#', ' / ')}`,
          t('serve.callCount', { n: one.calls }),
          t('serve.callErrors', { n: one.errors, share: percent(one.errors / one.calls) }),
          `p50 ${duration(one.p50_ns)}, p95 ${duration(one.p95_ns)}, p99 ${duration(one.p99_ns)}`,
        ].join('\n'),
      }))}
      width={WIDTH}
      height={height}
      label={t('serve.calls')}
      testId="deployment-graph"
    />
  );
}

/** The duration of the calls and the number that failed. */
function CallNote({ calls }: { calls: ServeCalls }) {
  const { t } = useTranslation();
  return (
    <>
      <span className={words.dim}>p95 {duration(calls.p95_ns)}</span>
      {calls.errors > 0 && (
        <span className={css.errors} data-testid="call-errors">
          {t('serve.errorShare', { share: percent(calls.errors / calls.calls) })}
        </span>
      )}
    </>
  );
}

function Card(props: { application: ServeApplicationAnswer; deployment: ServeDeployment; height: number }) {
  const { application, deployment, height } = props;
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  const state = stateOf(deployment);
  const isBad = state === 'UNHEALTHY' || state === 'DEPLOY_FAILED';
  const reason = reasonOf(deployment);
  const outside = callsOutside(deployment, application.deployments);
  const target = deployment.target_replicas;
  return (
    <article className={css.card} style={{ height }} data-bad={isBad || undefined} data-testid="deployment">
      <div className={css.cardHead}>
        <Link
          to={toView(url, 'actors', { class_name: `ServeReplica:${application.name}:${deployment.name}` })}
          className={`${words.link} ${words.ellipsis}`}
          title={deployment.name}
        >
          {deployment.name}
        </Link>
        {deployment.is_ingress === true && <Badge>{t('serve.ingress')}</Badge>}
      </div>
      <ItemState state={state} />
      <span className={words.num}>
        {t('serve.running', {
          n: count(deployment.running_replicas),
          target: target === null ? '–' : count(target),
        })}
      </span>
      {outside.length > 0 && (
        <span className={`${words.dim} ${words.ellipsis}`} title={outside.join('\n')}>
          → {outside.map((id) => id.replace('#', ' / ')).join(', ')}
        </span>
      )}
      {reason !== null && (
        <span className={css.reason} title={reason} data-testid="deployment-reason">
          {lastLine(reason)}
        </span>
      )}
    </article>
  );
}
