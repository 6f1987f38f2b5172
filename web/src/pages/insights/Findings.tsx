import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { InsightsAnswer } from '../../api/schema';
import { count } from '../../base/format';
import { findingKey } from '../../ui/insights/findings';
import { useFindingTexts } from '../../ui/insights/useFindingTexts';
import { Panel, PanelText } from '../../ui/panels/Panel';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import { FindingCard } from './FindingCard';
import css from './Findings.module.css';

/** Number of findings that are listed at first. */
const SHOWN = 10;

/** Findings by how much they would save, largest first, followed by the checks that could not run. */
export function Findings({ insights }: { insights: InsightsAnswer }) {
  const { t } = useTranslation();
  const [url] = useSessionUrl();
  const [all, setAll] = useState(false);
  const { findings, silent, job_id: job } = insights;
  const linkedKey = url.settings?.finding;
  const keys = findings.map(findingKey);
  // Several loops of a function have the same key. A link refers to the first of them, which is the largest.
  const openAt = linkedKey === undefined ? 0 : keys.indexOf(linkedKey);
  const shown = all ? findings : findings.slice(0, Math.max(SHOWN, openAt + 1));
  return (
    <Panel title={t('insights.findings.title')} note={count(findings.length)} testId="findings" wide>
      {findings.length === 0 ? (
        <PanelText good>{t('insights.findings.noneText')}</PanelText>
      ) : (
        <ul>
          {shown.map((finding, at) => (
            <FindingCard
              // biome-ignore lint/suspicious/noArrayIndexKey: two findings may have the same key.
              key={`${keys[at]} ${at}`}
              finding={finding}
              job={job}
              isWanted={linkedKey !== undefined && at === openAt}
              isFirst={at === 0 && linkedKey === undefined}
            />
          ))}
        </ul>
      )}
      {shown.length < findings.length && (
        <button type="button" className={words.link} onClick={() => setAll(true)} data-testid="findings-more">
          {t('insights.findings.more', { n: count(findings.length - shown.length) })}
        </button>
      )}
      {silent.length > 0 && <SkippedChecks silent={silent} />}
    </Panel>
  );
}

function SkippedChecks({ silent }: Pick<InsightsAnswer, 'silent'>) {
  const { t } = useTranslation();
  const texts = useFindingTexts();
  return (
    <details className={css.silent} data-testid="silent">
      <summary>{t('insights.findings.silent', { n: silent.length })}</summary>
      <dl>
        {silent.map(({ kind, message }) => (
          <div key={`${kind} ${message}`}>
            <dt>{texts.title(kind)}</dt>
            <dd className={words.dim}>{message}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}
