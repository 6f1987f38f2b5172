import { Select } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { answerTo } from '../../api/queries';
import type { CompareAnswer, ComparedLine, Side } from '../../api/schema';
import { codePlace, count, percent } from '../../base/format';
import { addressOf } from '../../base/url';
import { ErrorPanel } from '../../ui/ErrorPanel';
import library from '../../ui/theme/library.module.css';
import words from '../../ui/theme/words.module.css';
import css from './ComparePage.module.css';

const SAMPLE_SIDES = ['a', 'b'] as const;

/** The lines of a function whose share of its samples changed the most. */
export function Lines({ answer }: { answer: CompareAnswer }) {
  const { t } = useTranslation();
  const [chosen, setChosen] = useState<string | null>(null);
  const functions = answer.functions.filter(({ a, b }) => a !== null && b !== null);
  const shown = functions.find(({ name }) => name === chosen) ?? functions[0];
  if (shown === undefined) return null;
  return (
    <section className={css.panel} data-testid="compare-lines">
      <div className={css.functionsHead}>
        <h2>
          {t('compare.lines.title')} <span className={words.dim}>· {t('compare.lines.hint')}</span>
        </h2>
        <Select
          size="xs"
          aria-label={t('compare.lines.choose')}
          data={functions.map(({ name }) => name)}
          value={shown.name}
          onChange={setChosen}
          searchable
          allowDeselect={false}
        />
      </div>
      <LineTable answer={answer} name={shown.name} renamedFrom={shown.renamed_from ?? undefined} />
    </section>
  );
}

const runsOf = ({ runs }: Side) => runs.map(addressOf).join(',');

function LineTable(props: { answer: CompareAnswer; name: string; renamedFrom?: string }) {
  const { t } = useTranslation();
  const [a, b] = [runsOf(props.answer.a), runsOf(props.answer.b)];
  const { data, error, refetch } = useQuery({
    ...answerTo('/compare/lines', { a, b, function: props.name, renamed_from: props.renamedFrom }),
    refetchInterval: false,
  });
  if (data === undefined)
    return error === null ? (
      <p className={words.dim}>{t('compare.lines.loading')}</p>
    ) : (
      <ErrorPanel error={error} onRetry={() => void refetch()} />
    );
  const samples = { a: data.a_samples, b: data.b_samples };
  if (Math.min(samples.a, samples.b) < data.min_samples)
    return (
      <p className={words.dim} data-testid="compare-lines-few">
        {t('compare.lines.few', { a: count(samples.a), b: count(samples.b), least: data.min_samples })}
      </p>
    );
  return (
    <table className={library.table}>
      <thead>
        <tr>
          <th>{t('compare.lines.line')}</th>
          {SAMPLE_SIDES.map((side) => (
            <th key={side} data-number title={t('lines.samples', { n: count(samples[side]) })}>
              {t(`compare.total.${side}`)}
            </th>
          ))}
          <th data-number title={t('lines.pointsHint')}>
            {t('compare.lines.change')}
          </th>
          <th>{t('compare.verdictColumn')}</th>
        </tr>
      </thead>
      <tbody>
        {data.items.map((item) => (
          <tr key={`${item.file}:${item.line} ${item.function}`} data-testid="compared-line">
            <td className={words.breaks}>
              <span className={words.mono}>{codePlace(item)}</span>{' '}
              <span className={words.dim}>{item.function}</span>
            </td>
            <td data-number>{percent(item.a_share)}%</td>
            <td data-number>{percent(item.b_share)}%</td>
            <td data-number>{changeText(item)}</td>
            <td>{t(`compare.lines.verdict.${item.verdict}`)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** `+37.0 ± 6.2`, in percentage points. */
function changeText({ a_share, b_share, points }: ComparedLine): string {
  const change = 100 * (b_share - a_share);
  const sign = change > 0 ? '+' : change < 0 ? '−' : '';
  return `${sign}${Math.abs(change).toFixed(1)} ± ${points.toFixed(1)}`;
}
