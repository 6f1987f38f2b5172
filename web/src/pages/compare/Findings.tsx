import { Badge } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { RETRY_WHILE_BUSY } from '../../api/insights';
import { answerTo } from '../../api/queries';
import type { CompareAnswer } from '../../api/schema';
import { percent } from '../../base/format';
import { addressOf } from '../../base/url';
import { ErrorPanel } from '../../ui/ErrorPanel';
import { useFindingTexts } from '../../ui/insights/useFindingTexts';
import library from '../../ui/theme/library.module.css';
import words from '../../ui/theme/words.module.css';
import css from './ComparePage.module.css';

const COLORS = { came: 'red', went: 'green', stayed: 'gray' };

/** The findings about the two runs that are shown: those that came, went, or stayed. */
export function Findings({ answer }: { answer: CompareAnswer }) {
  const { t } = useTranslation();
  const texts = useFindingTexts();
  const [a, b] = [addressOf(answer.a.shown), addressOf(answer.b.shown)];
  const { data, error, refetch } = useQuery({
    ...answerTo('/compare/findings', { a, b }),
    refetchInterval: false,
    ...RETRY_WHILE_BUSY,
  });
  const share = (side: 'a' | 'b', value: number | null) =>
    value === null ? '–' : `${data?.not_replayed.includes(side) ? '≤ ' : ''}${percent(value)}%`;
  return (
    <section className={css.panel} data-testid="compare-findings">
      <h2>
        {t('compare.findings.title')} <span className={words.dim}>· {t('compare.findings.hint')}</span>
      </h2>
      {error !== null && data === undefined && <ErrorPanel error={error} onRetry={() => void refetch()} />}
      {data === undefined && error === null && <p className={words.dim}>{t('compare.findings.loading')}</p>}
      {data?.items.length === 0 && (
        <p className={words.dim}>
          {t(data.too_large.length > 0 ? 'compare.findings.tooLarge' : 'compare.findings.none')}
        </p>
      )}
      {data !== undefined && data.items.length > 0 && (
        <table className={library.table}>
          <thead>
            <tr>
              <th>{t('compare.findings.change')}</th>
              <th>{t('compare.findings.finding')}</th>
              <th>{t('compare.findings.where')}</th>
              <th data-number>{t('compare.total.a')}</th>
              <th data-number>{t('compare.total.b')}</th>
            </tr>
          </thead>
          <tbody>
            {data.items.map((one) => (
              <tr
                key={`${one.kind} ${one.function} ${one.actor_class} ${one.caller}`}
                data-testid="compared-finding"
              >
                <td>
                  <Badge size="sm" variant="light" tt="none" color={COLORS[one.change]}>
                    {t(`compare.findings.${one.change}`)}
                  </Badge>
                </td>
                <td>{texts.title(one.kind, one.title)}</td>
                <td className={words.mono}>
                  {one.function ?? one.actor_class ?? ''}
                  {one.caller && (
                    <span className={words.dim}> {t('compare.findings.in', { name: one.caller })}</span>
                  )}
                </td>
                <td data-number>{share('a', one.a_share)}</td>
                <td data-number>{share('b', one.b_share)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}
