import { useTranslation } from 'react-i18next';
import type { ServeApplicationAnswer } from '../../api/schema';
import { Dash } from '../../ui/Dash';
import { ItemState } from '../../ui/ItemState';
import { Time } from '../../ui/Time';
import library from '../../ui/theme/library.module.css';
import words from '../../ui/theme/words.module.css';
import { changesOf, lastLine } from './serve';
import css from './serve.module.css';

/** State changes of an application and of its deployments, newest first, with Serve's messages. */
export function ChangeTable({ application }: { application: ServeApplicationAnswer }) {
  const { t } = useTranslation();
  return (
    <div className={css.tall}>
      <table className={library.table} data-testid="changes">
        <thead>
          <tr>
            <th>{t('serve.time')}</th>
            <th>{t('serve.what')}</th>
            <th>{t('serve.state')}</th>
            <th>{t('serve.trigger')}</th>
            <th>{t('serve.reason')}</th>
          </tr>
        </thead>
        <tbody>
          {changesOf(application).map((change) => (
            <tr key={`${change.deployment ?? ''}#${change.time_ns}#${change.state}`}>
              <td>
                <Time ns={change.time_ns} />
              </td>
              <td className={css.oneLine} title={change.deployment ?? undefined}>
                {change.deployment ?? <span className={words.dim}>{t('serve.application')}</span>}
              </td>
              <td>
                <ItemState state={change.state} />
              </td>
              <td className={`${words.mono} ${css.oneLine}`}>
                {change.trigger === 'UNSPECIFIED' ? <Dash /> : (change.trigger ?? <Dash />)}
              </td>
              <td className={css.wide}>
                {change.reason === null ? (
                  <Dash />
                ) : (
                  <span className={css.clamped} title={change.reason}>
                    {lastLine(change.reason)}
                  </span>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
