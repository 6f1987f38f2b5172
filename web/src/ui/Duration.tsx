import { count, duration, type Nanos } from '../base/format';
import words from './theme/words.module.css';

export function Duration({ ns }: { ns: Nanos }) {
  const exact = typeof ns === 'number' ? `${count(ns)} ns` : undefined;
  return (
    <span className={words.num} title={exact}>
      {duration(ns)}
    </span>
  );
}
