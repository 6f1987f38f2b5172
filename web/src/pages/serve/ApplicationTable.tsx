import { useTranslation } from 'react-i18next';
import type { ServeApplicationItem } from '../../api/schema';
import { count } from '../../base/format';
import { Dash } from '../../ui/Dash';
import { ItemState } from '../../ui/ItemState';
import { Link } from '../../ui/Link';
import { Time } from '../../ui/Time';
import library from '../../ui/theme/library.module.css';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';

/** All applications, deleted ones last. The chosen one is shown below. */
export function ApplicationTable({
  applications,
  chosen,
}: {
  applications: ServeApplicationItem[];
  chosen: string;
}) {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  return (
    <div className={library.list}>
      <table className={library.table} data-testid="applications">
        <thead>
          <tr>
            <th>{t('serve.application')}</th>
            <th>{t('serve.state')}</th>
            <th>{t('serve.since')}</th>
            <th>{t('serve.route')}</th>
            <th>{t('serve.deployments')}</th>
            <th data-number title={t('serve.replicasHint')}>
              {t('serve.replicas')}
            </th>
            <th>{t('serve.deployed')}</th>
          </tr>
        </thead>
        <tbody>
          {applications.map((application) => {
            const { deployments } = application;
            const target = deployments.reduce((sum, one) => sum + (one.target_replicas ?? 0), 0);
            const running = deployments.reduce((sum, one) => sum + one.running_replicas, 0);
            const isThere = application.state !== 'DELETED' && application.state !== 'CUT_OFF';
            return (
              <tr
                key={application.name}
                aria-current={application.name === chosen || undefined}
                data-testid="application"
              >
                <td>
                  <Link to={{ ...url, item: application.name }} className={words.link}>
                    {application.name}
                  </Link>
                </td>
                <td>
                  <ItemState state={application.state} />
                </td>
                <td>
                  <Time ns={application.since_ns} />
                </td>
                <td className={words.mono}>{application.route_prefix ?? <Dash />}</td>
                <td>{deployments.map((one) => one.name).join(', ') || <Dash />}</td>
                <td data-number data-bad={(isThere && running < target) || undefined}>
                  {isThere ? `${count(running)} / ${count(target)}` : <Dash />}
                </td>
                <td>
                  <Time ns={application.deployed_ns} />
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
