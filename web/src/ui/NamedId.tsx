import { useTranslation } from 'react-i18next';
import { shortId } from '../base/format';
import { toItem, type View } from '../base/url';
import { CopyId } from './CopyId';
import css from './CopyId.module.css';
import { Dash } from './Dash';
import { Link } from './Link';
import words from './theme/words.module.css';
import { useSessionUrl } from './useUrl';

const hasName = (id: string, name: string) => name !== id && name !== shortId(id);

/** The name of an entity with its id on hover; without a name, its id. */
export function NamedId({ id, name }: { id: string | null; name: (id: string) => string }) {
  if (!id) return <Dash />;
  return hasName(id, name(id)) ? (
    <span className={words.ellipsis} title={`${name(id)}\n${id}`}>
      {name(id)}
    </span>
  ) : (
    <CopyId id={id} />
  );
}

/** A link to the entity's page, labelled with its name. With `full`, the id is shown next to it. */
export function NamedLink(props: { view: View; id: string; name: string; full?: boolean }) {
  const { view, id, name, full } = props;
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  return (
    <span className={css.item}>
      <Link
        to={toItem(url, view, id)}
        className={`${words.link} ${words.ellipsis}`}
        title={`${name}\n${id}`}
        label={`${t('entity.open')}: ${name}`}
      >
        {name}
      </Link>
      {full && hasName(id, name) && (
        <span className={css.beside}>
          <CopyId id={id} />
        </span>
      )}
    </span>
  );
}
