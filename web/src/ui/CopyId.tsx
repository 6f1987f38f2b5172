import { IconCheck, IconCopy } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { shortId } from '../base/format';
import css from './CopyId.module.css';
import { Dash } from './Dash';
import words from './theme/words.module.css';
import { useCopied } from './useCopied';

/** The short form of an id. The full id is shown on hover and copied on click. */
export function CopyId({ id, full }: { id: string | null | undefined; full?: boolean }) {
  const { t } = useTranslation();
  const [copied, copy] = useCopied();
  if (!id) return <Dash />;
  return (
    <button
      type="button"
      className={css.id}
      title={`${id}\n${t(copied ? 'common.copied' : 'common.copy')}`}
      onClick={(event) => {
        event.stopPropagation();
        copy(id);
      }}
    >
      <span className={full ? words.breaks : css.short}>{full ? id : shortId(id)}</span>
      <span className={css.icon} data-copied={copied || undefined}>
        {copied ? <IconCheck size={12} /> : <IconCopy size={12} />}
      </span>
    </button>
  );
}
