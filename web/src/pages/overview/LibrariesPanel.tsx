import { useTranslation } from 'react-i18next';
import { type ClusterTopic, useTopic } from '../../api/realtime';
import { count } from '../../base/format';
import { LIBRARY_VIEWS, toView } from '../../base/url';
import { ItemState } from '../../ui/ItemState';
import { Link } from '../../ui/Link';
import { Panel } from '../../ui/panels/Panel';
import words from '../../ui/theme/words.module.css';
import { usePunctuation } from '../../ui/usePunctuation';
import { useItemStateName } from '../../ui/useStateName';
import { useSessionUrl } from '../../ui/useUrl';
import css from './LibrariesPanel.module.css';

/** The Ray libraries in use, with the number of datasets, applications or runs by state. */
export function LibrariesPanel() {
  const { t } = useTranslation();
  const { colon } = usePunctuation();
  const [url] = useSessionUrl();
  const name = useItemStateName();
  const libraries = useTopic<ClusterTopic>('cluster', { session: url.session })?.libraries ?? {};
  const used = LIBRARY_VIEWS.filter((view) => libraries[view] !== undefined);
  if (used.length === 0) return null;
  return (
    <Panel title={t('overview.libraries')} testId="panel-libraries" wide>
      <ul className={css.libraries}>
        {used.map((view) => (
          <li key={view} className={css.library}>
            <Link to={toView(url, view)} className={`${words.link} ${words.name}`}>
              {t(`nav.${view}`)}
            </Link>
            {Object.entries(libraries[view] ?? {}).map(([state, number]) => (
              <ItemState key={state} state={state} label={`${name(state)}${colon}${count(number)}`} />
            ))}
          </li>
        ))}
      </ul>
    </Panel>
  );
}
