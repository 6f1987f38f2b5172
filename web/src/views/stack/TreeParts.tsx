import { IconChevronRight } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import words from '../../ui/theme/words.module.css';
import { found } from './stack';
import css from './TreeParts.module.css';

/** The button that opens and closes a line of a tree; for a leaf, blank space. */
export function Toggle(props: { parent: boolean; open: boolean; onOpen: (open: boolean) => void }) {
  const { t } = useTranslation();
  if (!props.parent) return <span className={css.toggle} />;
  return (
    <button
      type="button"
      className={css.toggle}
      tabIndex={-1}
      aria-label={t(props.open ? 'stack.close' : 'stack.open')}
      onClick={(event) => {
        event.stopPropagation();
        props.onOpen(!props.open);
      }}
    >
      <IconChevronRight size={14} className={props.open ? words.turned : undefined} />
    </button>
  );
}

/** A name with the search hit highlighted. */
export function Marked(props: { name: string; match: boolean; search: string }) {
  const marked = props.match ? found(props.name, props.search) : null;
  if (marked === null) return props.name;
  return (
    <>
      {marked[0]}
      <mark>{marked[1]}</mark>
      {marked[2]}
    </>
  );
}
