import { useTranslation } from 'react-i18next';
import type { ServeReplica } from '../../api/schema';
import { toView, withSettings } from '../../base/url';
import { Dash } from '../../ui/Dash';
import { Duration } from '../../ui/Duration';
import { ItemLink } from '../../ui/ItemLink';
import { ItemState } from '../../ui/ItemState';
import { Link } from '../../ui/Link';
import { Time } from '../../ui/Time';
import library from '../../ui/theme/library.module.css';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import css from './serve.module.css';

/** The replicas, including dead ones, with links to their details. */
export function ReplicaTable({ replicas }: { replicas: ServeReplica[] }) {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  if (replicas.length === 0) return <p className={words.dim}>{t('serve.noReplicas')}</p>;
  return (
    <div className={css.tall}>
      <table className={library.table} data-testid="replicas">
        <thead>
          <tr>
            <th>{t('serve.deployment')}</th>
            <th>{t('serve.replica')}</th>
            <th>{t('serve.state')}</th>
            <th>{t('serve.opens')}</th>
            <th>{t('serve.started')}</th>
            <th data-number>{t('serve.lived')}</th>
            <th>{t('serve.died')}</th>
            <th>{t('serve.actor')}</th>
            <th>{t('serve.node')}</th>
            <th>{t('serve.worker')}</th>
          </tr>
        </thead>
        <tbody>
          {replicas.map((one) => (
            <tr key={one.replica_id} data-testid="replica">
              <td className={css.oneLine} title={one.deployment ?? undefined}>
                {one.deployment}
              </td>
              <td className={`${words.mono} ${css.oneLine}`}>{one.name}</td>
              <td>
                <ItemState state={one.state} />
              </td>
              <td className={`${css.opens} ${css.oneLine}`}>
                <LogLink node={one.node_id} file={one.log_file} />
                {one.actor_id !== null && (
                  <Link to={toView(url, 'tasks', { actor_id: one.actor_id })} className={words.link}>
                    {t('nav.tasks')}
                  </Link>
                )}
              </td>
              <td>
                <Time ns={one.start_ns} />
              </td>
              <td data-number>
                {one.start_ns === null || (one.state === 'STOPPED' && one.end_ns === null) ? (
                  <Dash />
                ) : (
                  <Duration ns={(one.end_ns ?? Date.now() * 1e6) - one.start_ns} />
                )}
              </td>
              <td className={css.why}>
                {one.death_reason === null ? (
                  <Dash />
                ) : one.start_error === null ? (
                  <span className={words.ellipsis} title={one.death_reason}>
                    {one.death_reason}
                  </span>
                ) : (
                  <details data-testid="start-error">
                    <summary title={one.death_reason}>{one.death_reason}</summary>
                    <pre className={words.pre}>{one.start_error}</pre>
                  </details>
                )}
              </td>
              <td>
                <ItemLink view="actors" id={one.actor_id} />
              </td>
              <td>
                <ItemLink view="nodes" id={one.node_id} />
              </td>
              <td>
                <ItemLink view="workers" id={one.worker_id} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The log of one of Serve's actors. */
export function LogLink({ node, file }: { node: string | null; file: string | null }) {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  if (node === null || file === null) return null;
  return (
    <Link to={withSettings(toView(url, 'logs'), { node, file })} className={words.link} title={file}>
      {t('serve.log')}
    </Link>
  );
}
