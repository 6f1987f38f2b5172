import { useTranslation } from 'react-i18next';
import type { QueryAnswer } from '../../api/schema';
import { count, fullTime, shortId } from '../../base/format';
import { distinguishingLabels } from '../../ui/charts/series';
import { valueText } from '../../ui/charts/units';
import words from '../../ui/theme/words.module.css';
import css from './InstantTable.module.css';
import { newestMoment } from './useInstant';

/** A query's values at one moment: a row per series, a column per label. */
export function InstantTable({ answer }: { answer: QueryAnswer }) {
  const { t } = useTranslation();
  const moment = newestMoment(answer);
  const rows = moment?.rows ?? [];
  const all = rows.map(({ labels }) => labels);
  // The labels that distinguish the series come first.
  const names = new Set([
    ...distinguishingLabels(all),
    ...all.flatMap((labels) => Object.keys(labels).sort()),
  ]);
  if (new Set(all.map((labels) => labels.__name__)).size === 1) names.delete('__name__');
  const isId = (value: string) => /^[0-9a-f]{16,}$/.test(value);
  return (
    <div className={css.section} data-testid="instant">
      <h3 className={css.title}>
        <code className={words.breaks}>{answer.expr}</code>
      </h3>
      <p className={`${words.dim} ${words.num}`} data-testid="instant-time">
        {moment === null
          ? t('metricsPage.noValues', { time: fullTime(answer.until_ns).slice(0, 19) })
          : t('metricsPage.valuesAt', {
              time: fullTime(moment.time * 1e6).slice(0, 19),
              n: count(rows.length),
            })}
        {answer.left_out > 0 && ` ${t('metricsPage.leftOut', { n: count(answer.left_out) })}`}
      </p>
      {rows.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable regions must be reachable by keyboard.
        <section className={css.scroll} tabIndex={0} aria-label={answer.expr}>
          <table className={css.table}>
            <thead>
              <tr>
                <th scope="col" data-align="right">
                  {t('metricsPage.value')}
                </th>
                {[...names].map((name) => (
                  <th key={name} scope="col">
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.map(({ labels, value }) => (
                <tr key={JSON.stringify(labels)}>
                  <td data-align="right" className={words.num} title={String(value)}>
                    {valueText(value, answer.unit)}
                  </td>
                  {[...names].map((name) => {
                    const text = labels[name] ?? '';
                    return (
                      <td key={name} className={words.num} title={isId(text) ? text : undefined}>
                        {isId(text) ? shortId(text) : text}
                      </td>
                    );
                  })}
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
    </div>
  );
}
