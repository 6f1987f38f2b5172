import { Button } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { DifferenceItem } from '../../api/schema';
import { CopyButton } from '../../ui/CopyButton';
import library from '../../ui/theme/library.module.css';
import words from '../../ui/theme/words.module.css';
import css from './ComparePage.module.css';

/** Number of differences that are shown at first. */
const ROWS = 16;

/** A longer beginning that both sides share is left out, so that the difference is in sight. */
const MAX_SAME = 30;

/** There may be hundreds of packages, so they are last. */
const isPackage = ({ what }: DifferenceItem) => what.startsWith('package.');

/** What else differs, such as versions and settings. Long values are cut, but hovering and copying show all. */
export function Differences({ items }: { items: readonly DifferenceItem[] }) {
  const { t } = useTranslation();
  const nameOf = useFactName();
  const [all, setAll] = useState(false);
  const sorted = [...items].sort((one, other) => Number(isPackage(one)) - Number(isPackage(other)));
  return (
    <section className={css.panel} data-testid="compare-differences">
      <h2>{t('compare.differs')}</h2>
      {items.length === 0 && <p className={words.dim}>{t('compare.noDifferences')}</p>}
      {items.length > 0 && (
        <table className={`${library.table} ${css.differences}`}>
          <thead>
            <tr>
              <th>{t('compare.what')}</th>
              <th>{t('compare.total.a')}</th>
              <th>{t('compare.total.b')}</th>
            </tr>
          </thead>
          <tbody>
            {sorted.slice(0, all ? undefined : ROWS).map(({ what, a, b, same_chars }) => (
              <tr key={what}>
                <td title={what}>{nameOf(what)}</td>
                <td>
                  <Value
                    values={a}
                    same={same_chars}
                    label={t('compare.copy', { what: nameOf(what), side: 'A' })}
                  />
                </td>
                <td>
                  <Value
                    values={b}
                    same={same_chars}
                    label={t('compare.copy', { what: nameOf(what), side: 'B' })}
                  />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {items.length > ROWS && !all && (
        <Button size="compact-xs" variant="default" mt={8} onClick={() => setAll(true)}>
          {t('compare.allDifferences', { n: items.length })}
        </Button>
      )}
      <p className={`${css.note} ${words.dim}`}>{t('compare.environment')}</p>
    </section>
  );
}

function Value({ values, same, label }: { values: string[] | null; same: number; label: string }) {
  const { t } = useTranslation();
  if (values === null) return <span className={words.dim}>{t('compare.notRecorded')}</span>;
  const text = values.join('; ');
  return (
    <span className={css.value}>
      <span className={`${css.text} ${words.mono}`} title={text}>
        {same > MAX_SAME ? values.map((value) => `…${value.slice(same)}`).join('; ') : text}
      </span>
      <CopyButton text={text} label={label} />
    </span>
  );
}

/** The name of a fact. Keys of the runtime environment and the metadata follow it: `Metadata: commit`. */
function useFactName(): (what: string) => string {
  const { t, i18n } = useTranslation();
  return (what) => {
    const [kind = '', ...key] = what.split('.');
    if (!i18n.exists(`compare.whatNames.${kind}`)) return what;
    const name = t(`compare.whatNames.${kind as 'nodes'}`);
    return key.length > 0 ? `${name}: ${key.join('.')}` : name;
  };
}
