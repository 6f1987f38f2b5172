import { count, duration, type Nanos } from '../base/format';

export function Duration({ ns }: { ns: Nanos }) {
  const exact = typeof ns === 'number' ? `${count(ns)} ns` : undefined;
  return (
    <span className="rs-num" title={exact}>
      {duration(ns)}
    </span>
  );
}
