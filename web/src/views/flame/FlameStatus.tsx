import { useTranslation } from 'react-i18next';
import type { FlameAnswer } from '../../api/schema';
import { count } from '../../base/format';
import { useLibraryTexts } from '../../ui/insights/OnlyMine';
import { useJobName } from '../../ui/JobName';
import words from '../../ui/theme/words.module.css';
import css from './FlameStatus.module.css';
import { measuredMemory, type Node } from './flame';
import { useFoundText, valueText } from './flameText';

/** The unit of the widths, the totals, and the result of the search. */
export function FlameStatus(props: {
  answer: FlameAnswer;
  zoomed: Node;
  /** Why the widths show execution time instead of the requested critical path. */
  instead?: 'pending' | 'failed' | 'range';
}) {
  const { answer, zoomed, instead } = props;
  const jobName = useJobName();
  const { t } = useTranslation();
  const libraryTexts = useLibraryTexts();
  const foundText = useFoundText(zoomed);
  const memory = measuredMemory(answer);
  return (
    <span className={`${css.found} ${words.num}`} role="status" data-testid="flame-status">
      {answer.path_job_id !== null ? (
        <span className={words.dim}>{t('functions.byPath', { job: jobName(answer.path_job_id) })}</span>
      ) : (
        instead && <span className={words.dim}>{t(`functions.byExecuting.${instead}`)}</span>
      )}
      {foundText !== null ? (
        <b>{foundText}</b>
      ) : (
        t(answer.weight === 'count' ? 'flame.wholeCount' : 'flame.whole', {
          value: valueText(answer.total, answer.weight),
          n: count(answer.attempts),
        })
      )}
      {answer.weight === 'memory_time' && (
        <span className={words.dim} title={t('flame.memoryHint')} data-testid="flame-measured">
          {t('flame.cpuKnown', { n: count(memory.known), all: count(memory.attempts) })}
          {memory.shared > 0 && ` · ${t('flame.memoryShared', { n: count(memory.shared) })}`}
        </span>
      )}
      {answer.libraries.length > 0 && (
        <span className={words.dim} data-testid="libraries">
          {libraryTexts(answer.libraries)}
        </span>
      )}
      {answer.folded > 0 && (
        <span className={words.dim} title={t('flame.foldedHint')}>
          {t('flame.folded', { n: count(answer.folded), all: count(answer.frames_total) })}
        </span>
      )}
    </span>
  );
}
