import { Button } from '@mantine/core';
import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { CompareAnswer, WaterfallPart } from '../../api/schema';
import { duration } from '../../base/format';
import { REPORT } from '../../base/report';
import type { SessionUrl } from '../../base/url';
import { usePathPhase } from '../../ui/criticalPath';
import { Duration } from '../../ui/Duration';
import { Link } from '../../ui/Link';
import words from '../../ui/theme/words.module.css';
import page from './ComparePage.module.css';
import { tasksOf } from './tasksOf';
import css from './Waterfall.module.css';
import { rangeOf, stepsOf } from './waterfall';

/** Number of parts that are shown at first. The others are summed. */
const PARTS = 10;

/** The parts of the difference, as bars from A's duration to B's. */
export function Waterfall({ answer, lang }: { answer: CompareAnswer; lang?: string }) {
  const { t } = useTranslation();
  const [most, setMost] = useState(PARTS);
  const placeOf = usePlaceOf(answer, lang);
  const { name, detail } = usePartName();
  const isSingle = answer.a.runs.length + answer.b.runs.length === 2;
  const a = answer.a.shown.duration_ns;
  const b = answer.b.shown.duration_ns;
  const all = stepsOf(answer.waterfall, a, Infinity);
  // A last step that stands for a single part is no shorter than that part.
  const steps = all.length > most + 1 ? stepsOf(answer.waterfall, a, most) : all;
  const { low, high } = rangeOf(steps, a, b);
  const place = (ns: number) => (high === low ? 0 : (100 * (ns - low)) / (high - low));
  const bar = (from: number, to: number) => ({
    '--from': `${place(Math.min(from, to))}%`,
    '--to': `${place(Math.max(from, to))}%`,
    '--end': `${place(to)}%`,
  });
  const total = (side: 'a' | 'b', ns: number) => (
    <li className={css.row} data-total data-testid={`waterfall-${side}`} data-ns={ns}>
      <span className={css.name}>{t(`compare.total.${side}`)}</span>
      <span className={css.track} style={bar(low, ns) as React.CSSProperties} aria-hidden />
      <span className={css.change}>
        <Duration ns={ns} />
      </span>
    </li>
  );
  return (
    <section className={page.panel} data-testid="waterfall">
      <h2>
        {t('compare.where')}{' '}
        <span className={words.dim}>· {t(`compare.whereHint.${isSingle ? 'single' : 'median'}`)}</span>
      </h2>
      <ol className={css.rows} data-cut={low > 0 || undefined}>
        {total('a', a)}
        {steps.map(({ part, from, to }) => {
          const target = REPORT === null ? placeOf(part) : undefined; // it has no sessions
          return (
            <li
              key={`${part.phase} ${part.is_driver} ${part.function}`}
              className={css.row}
              data-longer={part.change_ns > 0}
              data-testid="waterfall-part"
              data-ns={part.change_ns}
            >
              <span className={css.name} title={[name(part), detail(part)].filter(Boolean).join('\n')}>
                {target === undefined ? (
                  name(part)
                ) : (
                  <Link to={target.to} className={css.link} title={target.title}>
                    {name(part)}
                  </Link>
                )}{' '}
                <span className={words.dim}>{detail(part)}</span>
              </span>
              <span className={css.track} style={bar(from, to) as React.CSSProperties} aria-hidden />
              <span className={css.change}>
                {part.change_ns > 0 && '+'}
                <Duration ns={part.change_ns} />
              </span>
              <span className={css.times}>
                {duration(part.a_ns)} → {duration(part.b_ns)}
              </span>
            </li>
          );
        })}
        {total('b', b)}
      </ol>
      <p className={`${words.dim} ${words.line}`}>
        {steps.length === 0 && t('compare.same')}
        {low > 0 && t('compare.startsAt', { start: duration(low) })}
        {steps.length < all.length && (
          <Button
            size="compact-xs"
            variant="default"
            onClick={() => setMost(Infinity)}
            data-testid="waterfall-all"
          >
            {t('compare.allParts', { n: all.length })}
          </Button>
        )}
      </p>
    </section>
  );
}

const isOfFunction = ({ phase }: WaterfallPart) => phase === 'executing' || phase === 'awaiting';

/** The name of a part as on the page of insights, and its phase if the part is a function. */
function usePartName() {
  const { t } = useTranslation();
  const phaseName = usePathPhase();
  return {
    name: (part: WaterfallPart) => {
      if (part.phase === 'others') return t('compare.others');
      if (part.phase === 'not_followed') return t('compare.notFollowed');
      if (!isOfFunction(part)) return phaseName(part.phase);
      return part.is_driver ? t('task.driver') : part.function || t('gantt.noFunction');
    },
    detail: (part: WaterfallPart) => (isOfFunction(part) ? phaseName(part.phase) : ''),
  };
}

/**
 * The tasks of a part's function in B, or in A if only A spent time there. Operators of libraries, which stand
 * for several functions, have none.
 */
function usePlaceOf({ a, b, functions }: CompareAnswer, lang: string | undefined) {
  const { t } = useTranslation();
  const known = useMemo(
    () => new Set(functions.flatMap(({ name, renamed_from }) => [name, renamed_from])),
    [functions],
  );
  return (part: WaterfallPart): { to: SessionUrl; title: string } | undefined => {
    const { function: name, is_driver: isDriver } = part;
    if (!isOfFunction(part) || isDriver || !known.has(name)) return undefined;
    const [side, run] = part.b_ns > 0 ? (['B', b.shown] as const) : (['A', a.shown] as const);
    return { to: tasksOf(run, name, lang), title: t('compare.toTasks', { name, side }) };
  };
}
