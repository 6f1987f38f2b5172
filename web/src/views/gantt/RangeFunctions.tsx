import { useTranslation } from 'react-i18next';
import { bytes, count, duration, percent } from '../../base/format';
import { withFilter } from '../../base/url';
import { usePalette } from '../../ui/canvas';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import panels from '../shared/panels.module.css';
import shared from './gantt.module.css';
import { meanText } from './rangeText';
import type { RangeAnswer } from './useRange';

/** Functions that ran in the range, with their times. */
export function RangeFunctions({ answer }: { answer: RangeAnswer }) {
  const [, change] = useSessionUrl();
  const { t } = useTranslation();
  const look = usePalette();
  const all = Math.max(1, answer.phases.executing);
  const left = answer.functions_total - answer.functions.length;
  return (
    <div className={shared.rangePart} data-testid="gantt-range-functions">
      <h4>{t('range.functions')}</h4>
      <ul>
        {answer.functions.map((row) => (
          <li key={row.name}>
            <button
              type="button"
              className={shared.part}
              title={t('range.filterBy', { name: row.name })}
              disabled={row.name === ''}
              onClick={() => change((before) => withFilter(before, 'func_name', row.name))}
              data-testid="gantt-range-function"
            >
              <span className={panels.swatch} style={{ background: look.named(row.name) }} />
              <span className={shared.partName}>
                <span className={`${words.ellipsis} ${words.name}`}>{row.name || t('common.unknown')}</span>
                <span className={`${shared.more} ${words.dim} ${words.num}`}>
                  {count(row.attempts)}× · {t('range.atATime', { mean: meanText(row.mean) })}
                  {row.blocked_ns > 0 && ` · ${t('range.blocked', { span: duration(row.blocked_ns) })}`}
                  {row.max_memory !== null && ` · ${t('gantt.memoryUpTo', { size: bytes(row.max_memory) })}`}
                  {row.failed > 0 && (
                    <span className={shared.bad}> · {t('gantt.tipFailed', { n: count(row.failed) })}</span>
                  )}
                </span>
              </span>
              <span className={`${shared.partTime} ${words.num}`}>
                {duration(row.executing_ns)}
                <span className={words.dim}>{percent(row.executing_ns / all)}%</span>
              </span>
              <span className={shared.partBar} style={{ width: `${(row.executing_ns / all) * 100}%` }} />
            </button>
          </li>
        ))}
      </ul>
      {left > 0 && (
        <p className={`${words.dim} ${words.num}`}>
          {t('range.leftOut', { n: count(left), span: duration(answer.functions_left_out_ns) })}
        </p>
      )}
    </div>
  );
}
