import type { TFunction } from 'i18next';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { count } from '../../base/format';
import words from '../theme/words.module.css';
import css from './ChartLegend.module.css';
import shared from './charts.module.css';
import { endOf, figures, type Line, latest } from './series';
import { type Unit, valueText } from './units';

/** Longest name that fits beside a value in a narrow column. */
const MAX_SHORT_NAME = 9;

/**
 * The value of a line without a crosshair: the latest one or, in a session that has ended, the greatest one,
 * because the last one of most lines is 0.
 */
export function restText(t: TFunction, { values }: Line, end: number, ended: boolean, unit: Unit): string {
  if (!ended) return valueText(latest(values, end), unit);
  const { most } = figures(values);
  return most === null ? valueText(null) : t('charts.max', { value: valueText(most, unit) });
}

/**
 * The lines of a chart with their values at the crosshair or, without a crosshair, as in `restText`. A
 * click isolates a line. With Ctrl or Shift, a click adds or removes one.
 */
export function ChartLegend(props: {
  lines: readonly Line[];
  looks: readonly { color: string; dashed: boolean }[];
  unit: Unit;
  /** Whether the session has ended. */
  ended: boolean;
  place: number | null;
  /** Number of lines that are listed until the user asks for more. */
  most: number;
  /** Keys of the visible lines; null means all. */
  only: ReadonlySet<string> | null;
  onOnly: (only: ReadonlySet<string>) => void;
  onFocus: (line: number | null) => void;
}) {
  const { lines, looks, unit, place, only } = props;
  const { t } = useTranslation();
  const [all, setAll] = useState(false);
  const more = lines.length - props.most;
  const end = endOf(lines);
  function choose(key: string, add: boolean): void {
    const alone = only?.size === 1 && only.has(key);
    const next = new Set(add ? (only ?? lines.map((line) => line.key)) : alone ? [] : [key]);
    if (add && !next.delete(key)) next.add(key);
    props.onOnly(next);
  }
  return (
    <ul
      className={css.legend}
      data-long={lines.some(({ name }) => name.length > MAX_SHORT_NAME) || undefined}
      aria-label={t('charts.legend')}
    >
      {(all ? lines : lines.slice(0, props.most)).map((line, at) => {
        const shown = only === null || only.has(line.key);
        const text =
          place === null
            ? restText(t, line, end, props.ended, unit)
            : valueText(line.values[place] ?? null, unit);
        return (
          <li key={line.key}>
            <button
              type="button"
              className={shared.legendLine}
              aria-pressed={only !== null && shown}
              data-off={!shown || undefined}
              data-testid="legend-line"
              title={`${line.name}\n${t('charts.isolate')}`}
              onClick={(event) => choose(line.key, event.ctrlKey || event.metaKey || event.shiftKey)}
              onMouseEnter={() => props.onFocus(at)}
              onMouseLeave={() => props.onFocus(null)}
            >
              <span
                className={shared.legendMark}
                data-dashed={looks[at]?.dashed || undefined}
                style={{ '--rs-mark': looks[at]?.color } as React.CSSProperties}
              />
              <span className={words.ellipsis}>{line.name}</span>
              <span className={`${words.num} ${css.value}`}>{text}</span>
            </button>
          </li>
        );
      })}
      {more > 0 && (
        <li>
          <button
            type="button"
            className={`${shared.legendLine} ${words.dim}`}
            aria-expanded={all}
            onClick={() => setAll((now) => !now)}
            data-testid="legend-more"
          >
            {all ? t('charts.fewer') : t('charts.moreLines', { n: count(more) })}
          </button>
        </li>
      )}
    </ul>
  );
}
