import { useTranslation } from 'react-i18next';
import { useJobNames } from '../api/queries';
import { toItem } from '../base/url';
import { CopyId } from './CopyId';
import css from './CopyId.module.css';
import { Dash } from './Dash';
import { Link } from './Link';
import words from './theme/words.module.css';
import { useSessionUrl } from './useUrl';

/** What people call a job: its script, or else its id. */
export function useJobName(): (id: string) => string {
  const [url] = useSessionUrl();
  const names = useJobNames(url.session).data;
  return (id) => names?.get(id) ?? id;
}

/** A job by its script, its id on hover. */
export function JobName({ id }: { id: string | null }) {
  const name = useJobName();
  if (!id) return <Dash />;
  return name(id) === id ? (
    <CopyId id={id} />
  ) : (
    <span className={words.ellipsis} title={`${name(id)}\n${id}`}>
      {name(id)}
    </span>
  );
}

/** The same as the way to its page; `full`: with the id beside it. */
export function JobLink({ id, full }: { id: string; full?: boolean }) {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  const name = useJobName()(id);
  return (
    <span className={css.item}>
      <Link
        to={toItem(url, 'jobs', id)}
        className={`${words.link} ${words.ellipsis}`}
        title={`${name}\n${id}`}
        label={`${t('entity.open')}: ${name}`}
      >
        {name}
      </Link>
      {full && name !== id && (
        <span className={css.beside}>
          <CopyId id={id} />
        </span>
      )}
    </span>
  );
}
