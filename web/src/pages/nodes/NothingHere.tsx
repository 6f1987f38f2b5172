import { IconServer2 } from '@tabler/icons-react';
import { Empty } from '../../ui/small';
import css from './NothingHere.module.css';

/** What a tab says when it has nothing. */
export function NothingHere({ children }: { children: string }) {
  return (
    <div className={css.nothing}>
      <Empty icon={<IconServer2 size={24} />} title={children} />
    </div>
  );
}
