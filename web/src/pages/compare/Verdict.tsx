import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import type { CompareAnswer, Side } from '../../api/schema';
import { changeText, duration } from '../../base/format';
import words from '../../ui/theme/words.module.css';
import { verdictTexts } from './texts';
import css from './Verdict.module.css';

/** The verdict as a sentence, what would help, and the figures behind it. */
export function Verdict({ answer }: { answer: CompareAnswer }) {
  const { t } = useTranslation();
  const { a, b, duration: change } = answer;
  const { verdict, help } = verdictTexts(answer, t);
  const { low, high, spread } = change;
  const runs = ({ runs }: Side) =>
    runs.length === 1 ? t('compare.facts.oneRun') : t('compare.facts.mean', { n: runs.length });
  return (
    <section className={css.head} data-verdict={change.verdict}>
      <p className={css.sentence} data-testid="compare-verdict">
        {verdict}
      </p>
      {help !== undefined && (
        <p className={css.help} data-testid="compare-help">
          {help}
        </p>
      )}
      <dl className={css.facts}>
        <Fact
          name={t('compare.facts.change')}
          hint={
            low === null || high === null
              ? t('compare.facts.noLimits')
              : t('compare.facts.limits', { low: changeText(low), high: changeText(high) })
          }
        >
          {changeText(change.ratio)}
        </Fact>
        <Fact name={t('compare.facts.a')} hint={runs(a)}>
          {duration(change.a_ns)}
        </Fact>
        <Fact name={t('compare.facts.b')} hint={runs(b)}>
          {duration(change.b_ns)}
        </Fact>
        <Fact
          name={t('compare.facts.spread')}
          hint={spread === null ? t('compare.facts.noSpread') : undefined}
        >
          {spread === null ? '–' : `${(100 * spread).toFixed(1)}%`}
        </Fact>
      </dl>
    </section>
  );
}

function Fact({ name, hint, children }: { name: string; hint?: string; children: ReactNode }) {
  return (
    <div>
      <dt className={words.dim}>{name}</dt>
      <dd>
        <span className={`${css.figure} ${words.num}`}>{children}</span>
        {hint !== undefined && <span className={css.hint}>{hint}</span>}
      </dd>
    </div>
  );
}
