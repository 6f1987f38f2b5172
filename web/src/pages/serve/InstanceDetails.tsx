import { useTranslation } from 'react-i18next';
import type { ServeController, ServeProxy } from '../../api/schema';
import { Field, Fields, Section } from '../../ui/Drawer';
import { ItemLink } from '../../ui/ItemLink';
import { ItemState } from '../../ui/ItemState';
import { Time } from '../../ui/Time';
import library from '../../ui/theme/library.module.css';
import words from '../../ui/theme/words.module.css';
import { Json } from '../../ui/Value';
import { LogLink } from './ReplicaTable';
import css from './serve.module.css';

/** Serve's system actors: a proxy per node, and the controller. */
export function InstanceDetails({
  proxies,
  controllers,
}: {
  proxies: ServeProxy[];
  controllers: ServeController[];
}) {
  const { t } = useTranslation();
  return (
    <div className={css.instance}>
      {proxies.length > 0 && (
        <Section title={t('serve.proxies')}>
          <div className={css.tall}>
            <table className={library.table} data-testid="proxies">
              <thead>
                <tr>
                  <th>{t('serve.node')}</th>
                  <th>{t('serve.state')}</th>
                  <th>{t('serve.since')}</th>
                  <th>{t('serve.address')}</th>
                  <th>{t('serve.actor')}</th>
                  <th>{t('serve.worker')}</th>
                  <th>{t('serve.opens')}</th>
                </tr>
              </thead>
              <tbody>
                {proxies.map((one) => (
                  <tr key={one.node_id} data-testid="proxy">
                    <td>
                      <ItemLink view="nodes" id={one.node_id} />
                    </td>
                    <td>
                      <ItemState state={one.state} />
                    </td>
                    <td>
                      <Time ns={one.since_ns} />
                    </td>
                    <td className={words.mono}>{one.node_ip}</td>
                    <td>
                      <ItemLink view="actors" id={one.actor_id} />
                    </td>
                    <td>
                      <ItemLink view="workers" id={one.worker_id} />
                    </td>
                    <td>
                      <LogLink node={one.node_id} file={one.log_file} />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </Section>
      )}
      {controllers.map((one) => (
        <Section key={one.actor_id} title={t('serve.controller')} testId="controller">
          <Fields>
            <Field name={t('serve.state')}>
              <ItemState state={one.state} />
            </Field>
            <Field name={t('serve.started')}>
              <Time ns={one.start_ns ?? one.history[0]?.time_ns ?? null} />
            </Field>
            <Field name={t('serve.actor')}>
              <ItemLink view="actors" id={one.actor_id} />
            </Field>
            <Field name={t('serve.node')}>
              <ItemLink view="nodes" id={one.node_id} />
            </Field>
            <Field name={t('serve.opens')}>
              <LogLink node={one.node_id} file={one.log_file} />
            </Field>
            <Field name={t('serve.proxyLocation')}>{one.proxy_location}</Field>
            <Field name={t('serve.httpOptions')}>
              <Json value={one.http_options} />
            </Field>
            {one.grpc_options !== null && (
              <Field name={t('serve.grpcOptions')}>
                <Json value={one.grpc_options} />
              </Field>
            )}
            <Field name={t('serve.health')} hint={t('serve.healthHint')}>
              {one.health === null ? t('serve.noHealth') : <Json value={one.health} />}
            </Field>
          </Fields>
        </Section>
      ))}
    </div>
  );
}
