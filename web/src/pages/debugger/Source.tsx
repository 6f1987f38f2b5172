import { useTranslation } from 'react-i18next';
import type { Frame, SourceLines } from '../../api/schema';
import { ErrorPanel } from '../../ui/ErrorPanel';
import words from '../../ui/theme/words.module.css';
import css from './debugger.module.css';
import type { TracedTask } from './traced';
import { useSecret } from './useSecret';

const scrollHere = (line: HTMLElement | null) => line?.scrollIntoView?.({ block: 'center' });

/** The source around the line of a frame, which is marked. */
export function Source({ task, frame }: { task: TracedTask; frame: Frame }) {
  const { t } = useTranslation();
  const { data, error } = useSecret<SourceLines>(task, 'source', { frame_id: frame.frame_id });
  if (error !== null) return <ErrorPanel error={error} />;
  return (
    <>
      <h3 className={`${css.head} ${words.mono} ${words.breaks}`}>{frame.file ?? t('debugger.source')}</h3>
      {data?.lines.length === 0 && <p className={words.dim}>{t('debugger.noSource')}</p>}
      {data && data.lines.length > 0 && (
        // The keys scroll it.
        // biome-ignore lint/a11y/noNoninteractiveTabindex: see above.
        <pre className={css.source} tabIndex={0} data-testid="look-source">
          {data.lines.map((text, at) => {
            const number = data.first + at;
            const isHere = number === frame.line;
            return (
              <div key={number} ref={isHere ? scrollHere : undefined} aria-current={isHere || undefined}>
                <span className={css.number}>{number}</span>
                {text || ' '}
              </div>
            );
          })}
        </pre>
      )}
    </>
  );
}
