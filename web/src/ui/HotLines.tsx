import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { useAnswer } from '../api/queries';
import type { LinesAnswer, SampledLine } from '../api/schema';
import { codePlace, count, percent } from '../base/format';
import type { Filters } from '../base/url';
import { Section } from './Drawer';
import css from './HotLines.module.css';
import { LinesExport } from './LinesExport';
import { Prose } from './Prose';
import { ShareBar } from './ShareBar';
import words from './theme/words.module.css';
import { useServerMessage } from './useServerMessage';
import { useSessionUrl } from './useUrl';

/** Maximum number of lines that are listed. */
export const MAX_LISTED = 8;

/** Samples of an attempt, of a profile, or of all attempts that match filters. */
type Sampled = { task_id: string; attempt: number } | { profile: string } | Filters;

/** The samples of stacks. With `enabled: false`, they are not requested. */
export function useLines(of: Sampled, enabled = true): LinesAnswer | undefined {
  const [url] = useSessionUrl();
  return useAnswer('/lines', { session: url.session, ...of }, { enabled }).data;
}

/** Number of samples, and how often one was taken. */
export function SamplesText({ answer }: { answer: LinesAnswer }) {
  const { t } = useTranslation();
  const n = count(answer.samples);
  return (
    <span className={`${words.dim} ${words.num}`}>
      {answer.hz.length === 1 ? t('lines.samplesAt', { n, hz: answer.hz[0] }) : t('lines.samples', { n })}
    </span>
  );
}

/**
 * The hottest lines of the attempts that match filters, if they have other samples than the `own` ones, which
 * are shown elsewhere.
 */
export function FunctionLines(props: { filters: Filters; own?: number; title?: string }) {
  const answer = useLines(props.filters);
  if (answer === undefined || answer.samples === (props.own ?? 0)) return null;
  return <LinesSection of={props.filters} answer={answer} title={props.title} testId="function-lines" />;
}

/** A section with the hottest lines of attempts. */
export function LinesSection(props: { of: Sampled; answer: LinesAnswer; title?: string; testId: string }) {
  const { answer } = props;
  const { t } = useTranslation();
  return (
    <Section
      title={props.title ?? t('lines.title')}
      testId={props.testId}
      right={
        <>
          <SamplesText answer={answer} />
          {answer.samples > 0 && <LinesExport of={props.of} />}
        </>
      }
    >
      <HotLines answer={answer} />
    </Section>
  );
}

/** The lines of code with the most samples, and the phases. If there are too few samples, it says why. */
export function HotLines({ answer }: { answer: LinesAnswer }) {
  const { t } = useTranslation();
  const translate = useServerMessage();
  const hot = answer.lines.filter((line) => line.self_samples > 0);
  const most = hot[0]?.self_samples ?? 0;
  const missing = answer.missing === null ? null : translate(answer.missing);
  return (
    <>
      {missing !== null && (
        <p className={`${words.dim} ${css.note}`} data-testid="lines-missing">
          <Prose text={missing.line} />
        </p>
      )}
      {answer.is_enough && <Phases answer={answer} />}
      <ol className={css.list} aria-label={t('lines.title')}>
        {hot.slice(0, MAX_LISTED).map((line) => (
          <Line key={`${line.file}:${line.line} ${line.function}`} line={line} most={most} />
        ))}
      </ol>
      {answer.self_lines_total > MAX_LISTED && (
        <p className={words.dim}>
          {t('common.moreRows', { n: count(answer.self_lines_total - MAX_LISTED) })}
        </p>
      )}
    </>
  );
}

function Line({ line, most }: { line: SampledLine; most: number }) {
  const { t } = useTranslation();
  return (
    <CodeLine line={line} source={line.source} share={line.self_samples / most}>
      {line.native_samples > 0 && (
        <span className={words.dim} title={t('lines.nativeHint')}>
          {`${t('lines.native', { share: percent(line.native_samples / line.self_samples) })} · `}
        </span>
      )}
      {line.self_share === null
        ? t('lines.samples', { n: count(line.self_samples) })
        : `${percent(line.self_share)}%`}
      {line.self_points !== null && (
        <span className={words.dim} title={t('lines.pointsHint')}>
          {` ± ${Math.ceil(line.self_points)}`}
        </span>
      )}
    </CodeLine>
  );
}

/** A line of code with its text, if that is known, its figures, and a bar. */
export function CodeLine(props: {
  line: { file: string; line: number; function: string };
  source: string | null;
  share: number;
  children: ReactNode;
}) {
  const { line, source, share, children } = props;
  const place = codePlace(line);
  const cut = line.file.lastIndexOf('/') + 1;
  // Native code has no lines, so its function says more than its file.
  const [folder, name, more] =
    line.line > 0
      ? [place.slice(0, cut), place.slice(cut), line.function]
      : ['', line.function, place.slice(cut)];
  return (
    <li title={`${place} ${line.function}`} data-testid="hot-line">
      <span className={css.place}>
        <span className={`${words.mono} ${words.ellipsis}`}>{folder}</span>
        <span className={`${words.mono} ${css.file}`}>{name}</span>
        <span className={`${css.function} ${words.ellipsis} ${words.dim}`}>{more}</span>
      </span>
      <span className={words.num}>{children}</span>
      {source !== null && (
        <code className={`${words.mono} ${words.ellipsis} ${words.dim} ${css.source}`}>{source}</code>
      )}
      <span className={css.bar}>
        <ShareBar share={share} />
      </span>
    </li>
  );
}

/** The phases that have samples: `62% executing · 30% in ray.get`. */
function Phases({ answer }: { answer: LinesAnswer }) {
  const { t } = useTranslation();
  const parts = answer.phases.map(({ phase, share }) => {
    const name = t(`lines.phase.${phase.replace('.', '_')}` as 'lines.phase.executing');
    return `${percent(share ?? 0)}% ${name}`;
  });
  return <p className={`${words.dim} ${css.note}`}>{parts.join(' · ')}</p>;
}
