import { useTranslation } from 'react-i18next';
import { useAnswer } from '../api/queries';
import { bytes, count } from '../base/format';
import { CodeLine, MAX_LISTED } from './HotLines';
import css from './HotLines.module.css';
import words from './theme/words.module.css';
import { useSessionUrl } from './useUrl';

/** The lines of code that hold the most memory of a profile, and the sum of all lines. */
export function MemoryLines({ profile }: { profile: string }) {
  const { t } = useTranslation();
  const [url] = useSessionUrl();
  const answer = useAnswer('/memory-lines', { session: url.session, profile }).data;
  if (answer === undefined) return null;
  const lines = answer.lines.filter((line) => line.self_bytes > 0).slice(0, MAX_LISTED);
  return (
    <>
      <p className={`${words.dim} ${css.note}`} data-testid="memory-sum">
        {t('profile.held', { size: bytes(answer.bytes), n: count(answer.allocations) })}
      </p>
      <ol className={css.list} aria-label={t('profile.holding')}>
        {lines.map((line) => (
          <CodeLine
            key={`${line.file}:${line.line} ${line.function}`}
            line={line}
            source={null}
            share={line.self_bytes / (lines[0]?.self_bytes ?? 1)}
          >
            <span className={words.dim}>
              {`${t('profile.allocations', { n: count(line.self_allocations) })} · `}
            </span>
            {bytes(line.self_bytes)}
          </CodeLine>
        ))}
      </ol>
      {answer.self_lines_total > lines.length && (
        <p className={words.dim}>
          {t('common.moreRows', { n: count(answer.self_lines_total - lines.length) })}
        </p>
      )}
    </>
  );
}
