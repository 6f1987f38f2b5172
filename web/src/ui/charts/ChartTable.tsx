import { useTranslation } from 'react-i18next';
import words from '../theme/words.module.css';
import css from './ChartTable.module.css';
import shared from './charts.module.css';
import { figures, type Line } from './series';
import { type Unit, valueText } from './units';

/** The values of a chart as a table: for each line, the last value, minimum, mean and maximum. */
export function ChartTable(props: {
  lines: readonly Line[];
  looks: readonly { color: string; dashed: boolean }[];
  unit: Unit;
  height: number;
}) {
  const { t } = useTranslation();
  return (
    <section className={css.table} style={{ height: props.height }} aria-label={t('charts.asTable')}>
      <table data-testid="chart-table">
        <thead>
          <tr>
            <th scope="col">{t('charts.line')}</th>
            {(['lastValue', 'least', 'mean', 'most'] as const).map((name) => (
              <th key={name} scope="col">
                {t(`charts.${name}`)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {props.lines.map((line, at) => {
            const { last, least, mean, most } = figures(line.values);
            return (
              <tr key={line.key}>
                <th scope="row" title={line.name}>
                  <span className={shared.legendLine}>
                    <span
                      className={shared.legendMark}
                      style={{ '--rs-mark': props.looks[at]?.color } as React.CSSProperties}
                    />
                    <span className={words.ellipsis}>{line.name}</span>
                  </span>
                </th>
                {[last, least, mean, most].map((value, column) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: the columns never change.
                  <td key={column} className={words.num}>
                    {valueText(value, props.unit)}
                  </td>
                ))}
              </tr>
            );
          })}
        </tbody>
      </table>
    </section>
  );
}
