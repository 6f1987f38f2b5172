import { useTranslation } from 'react-i18next';
import { count } from '../../base/format';
import { toView } from '../../base/url';
import { Badge } from '../../ui/Badge';
import { ItemState } from '../../ui/ItemState';
import { Link } from '../../ui/Link';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import { callsOutside, callsWithin, columnsOf, lastLine, reasonOf, stateOf } from './serve';
import css from './serve.module.css';
import type { Application, Deployment } from './types';

/** Of a card and between cards, CSS pixels (serve.module.css has the first two). */
const WIDTH = 232;
const HEIGHT = 124;
const GAP_X = 64;
const GAP_Y = 16;

/** The deployments as cards, from the ingress to the right, and arrows for the calls between them. */
export function DeploymentGraph({ application }: { application: Application }) {
  const { t } = useTranslation();
  const { deployments } = application;
  const calls = callsWithin(deployments);
  if (calls.length === 0)
    return (
      <div className={css.cards} data-testid="deployment-graph">
        {deployments.map((one) => (
          <Card key={one.deployment_id} application={application} deployment={one} />
        ))}
      </div>
    );
  const columns = columnsOf(deployments);
  const places = new Map<string, { x: number; y: number }>();
  const rows = Math.max(...columns.map((column) => column.length));
  for (const [at, column] of columns.entries()) {
    const top = ((rows - column.length) * (HEIGHT + GAP_Y)) / 2;
    for (const [row, one] of column.entries())
      places.set(one.deployment_id, { x: at * (WIDTH + GAP_X), y: top + row * (HEIGHT + GAP_Y) });
  }
  const width = columns.length * (WIDTH + GAP_X) - GAP_X;
  const height = rows * (HEIGHT + GAP_Y) - GAP_Y;
  return (
    <div className={css.scroll}>
      <div className={css.graph} style={{ width, height }} data-testid="deployment-graph">
        <svg width={width} height={height} role="img" aria-label={t('serve.calls')}>
          <defs>
            <marker
              id="serve-call"
              viewBox="0 0 8 8"
              refX="7"
              refY="4"
              markerWidth="8"
              markerHeight="8"
              orient="auto"
            >
              <path d="M0,0L8,4L0,8Z" className={css.tip} />
            </marker>
          </defs>
          {calls.map(([from, to]) => {
            const start = places.get(from);
            const end = places.get(to);
            if (start === undefined || end === undefined) return null;
            return (
              <path
                key={`${from}>${to}`}
                className={css.call}
                d={curve(start, end)}
                markerEnd="url(#serve-call)"
                data-testid="call"
              >
                <title>{`${from} → ${to}`}</title>
              </path>
            );
          })}
        </svg>
        {deployments.map((one) => {
          const place = places.get(one.deployment_id);
          return (
            <div
              key={one.deployment_id}
              className={css.placed}
              style={{ transform: `translate(${place?.x ?? 0}px, ${place?.y ?? 0}px)` }}
            >
              <Card application={application} deployment={one} />
            </div>
          );
        })}
      </div>
    </div>
  );
}

/** From the right side of a card to the left one of another; a call back goes below the cards. */
function curve(start: { x: number; y: number }, end: { x: number; y: number }): string {
  const [x, y] = [start.x + WIDTH, start.y + HEIGHT / 2];
  const [toX, toY] = [end.x, end.y + HEIGHT / 2];
  const bend = Math.max(GAP_X / 2, Math.abs(toX - x) / 2);
  return `M${x},${y}C${x + bend},${y} ${toX - bend},${toY} ${toX},${toY}`;
}

function Card({ application, deployment }: { application: Application; deployment: Deployment }) {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  const state = stateOf(deployment);
  const isBad = state === 'UNHEALTHY' || state === 'DEPLOY_FAILED';
  const reason = reasonOf(deployment);
  const outside = callsOutside(deployment, application.deployments);
  const target = deployment.target_replicas;
  return (
    <article className={css.card} data-bad={isBad || undefined} data-testid="deployment">
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
