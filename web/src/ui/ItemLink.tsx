import { IconArrowUpRight } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { toItem, type View } from '../base/url';
import { CopyId } from './CopyId';
import css from './CopyId.module.css';
import { Dash } from './Dash';
import { JobLink } from './JobName';
import { Link } from './Link';
import { NodeLink } from './NodeLabel';
import { useSessionUrl } from './useUrl';

/**
 * The id of an actor, worker, etc. with a copy button and a link to its details. Jobs and nodes are shown by
 * name.
 */
export function ItemLink({ view, id, full }: { view: View; id: string | null; full?: boolean }) {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  if (!id) return <Dash />;
  if (view === 'jobs') return <JobLink id={id} full={full} />;
  if (view === 'nodes') return <NodeLink id={id} full={full} />;
  return (
    <span className={css.item}>
      <CopyId id={id} full={full} />
      <Link to={toItem(url, view, id)} title={t('entity.open')} label={`${t('entity.open')}: ${id}`}>
        <IconArrowUpRight size={14} aria-hidden />
      </Link>
    </span>
  );
}
