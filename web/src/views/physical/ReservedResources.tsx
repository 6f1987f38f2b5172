import { useTranslation } from 'react-i18next';
import type { PhysicalNode } from '../../api/schema';
import { amount } from '../../base/format';
import { ShareBar } from '../../ui/ShareBar';
import words from '../../ui/theme/words.module.css';
import css from './ReservedResources.module.css';

/** Reserved and total amount of each resource. */
export function ReservedResources({ node }: { node: Pick<PhysicalNode, 'total' | 'used'> }) {
  const { t } = useTranslation();
  const names = [...new Set([...Object.keys(node.total ?? {}), ...Object.keys(node.used)])].filter(
    // Tasks hardly ever request this resource.
    (name) => name !== 'object_store_memory' || (node.used[name] ?? 0) > 0,
  );
  const rank = (name: string) => ['CPU', 'GPU', 'memory'].indexOf(name) + 1 || 9;
  names.sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
  if (names.length === 0) return <p className={words.dim}>{t('physical.noResources')}</p>;
  return (
    <div className={css.usage} data-testid="physical-usage">
      {names.map((name) => {
        const total = node.total?.[name];
        const used = node.used[name] ?? 0;
        const share = total === undefined || total === 0 ? 1 : used / total;
        return (
          <div key={name} className={css.use}>
            <span className={words.ellipsis} title={name}>
              {name}
            </span>
            <ShareBar
              share={Math.min(1, used === 0 ? 0 : share)}
              color={share > 1.0001 ? 'var(--rs-tone-bad)' : undefined}
            />
            <span className={words.num}>
              {amount(name, used)}
              {total !== undefined && <span className={words.dim}> / {amount(name, total)}</span>}
            </span>
          </div>
        );
      })}
    </div>
  );
}
