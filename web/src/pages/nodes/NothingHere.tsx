import { IconServer2 } from '@tabler/icons-react';
import { EmptyState } from '../../ui/EmptyState';
import css from './NothingHere.module.css';

/** What a tab says when it has nothing. */
export function NothingHere({ children }: { children: string }) {
  return (
    <div className={css.nothing}>
      <EmptyState icon={<IconServer2 size={24} />} title={children} />
    </div>
  );
}
