import { useTranslation } from 'react-i18next';
import { count, duration } from '../../base/format';
import words from '../../ui/theme/words.module.css';
import type { OnUnfold } from './LogicalNodes';
import css from './LogicalNotes.module.css';
import type { LogicalAnswer } from './logicalModel';

/** Explains what the graph folds or leaves out. */
export function LogicalNotes({ answer, onUnfold }: { answer: LogicalAnswer; onUnfold: OnUnfold }) {
  const { t } = useTranslation();
  const { folded } = answer;
  const notes = [
    ...(folded.functions > 0
      ? [
          t('logical.folded', {
            n: count(folded.functions),
            attempts: count(folded.attempts),
            time: duration(folded.duration_ns),
            limit: count(answer.limit),
          }),
        ]
      : []),
    ...(folded.drivers > 0 ? [t('logical.foldedDrivers', { n: count(folded.drivers) })] : []),
    ...Object.entries(folded.instances).map(([name, n]) =>
      t('logical.foldedInstances', { name, n: count(n) }),
    ),
    ...Object.entries(folded.calls).map(([name, n]) => t('logical.foldedCalls', { name, n: count(n) })),
    ...(answer.data_unnamed > 0 ? [t('logical.unnamed', { n: count(answer.data_unnamed) })] : []),
    ...(answer.data_sampled > 1 ? [t('logical.sampled', { n: count(answer.data_sampled) })] : []),
    ...(answer.is_estimated ? [t('logical.estimated')] : []),
  ];
  if (notes.length === 0 && answer.libraries.length === 0) return null;
  return (
    <div className={css.notes} data-testid="logical-notes">
      {answer.libraries.map(({ library, functions, is_folded }) => (
        <span key={library} className={css.library} data-testid="libraries">
          {t(is_folded ? 'origin.folded' : 'origin.unfolded', { library, n: count(functions) })}{' '}
          <button
            type="button"
            className={words.link}
            aria-label={t(is_folded ? 'origin.unfold' : 'origin.fold', { library })}
            onClick={() => onUnfold('unfold', library)}
            data-testid={`logical-library-${library}`}
          >
            {t(is_folded ? 'origin.expand' : 'origin.collapse')}
          </button>
        </span>
      ))}
      {notes.join(' ')}
    </div>
  );
}
