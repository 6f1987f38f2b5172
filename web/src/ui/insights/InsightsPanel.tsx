import { useTranslation } from 'react-i18next';
import { useInsights } from '../../api/insights';
import type { InsightsAnswer } from '../../api/schema';
import { clockTime } from '../../base/format';
import { toView } from '../../base/url';
import { Severity } from '../alerts/Severity';
import { severityTone } from '../alerts/severity';
import { Link } from '../Link';
import { Panel, PanelBody } from '../panels/Panel';
import words from '../theme/words.module.css';
import { useSessionUrl } from '../useUrl';
import { findingKey, toFinding } from './findings';
import css from './InsightsPanel.module.css';
import { useFindingTexts } from './useFindingTexts';
import { useVerdict } from './useVerdict';
import { VerdictActor } from './VerdictActor';

/** Number of findings that are listed. */
const SHOWN = 3;

/** The bottleneck of a job (or the longest one), the best remedy, and the largest findings. */
export function InsightsPanel({ job }: { job?: string }) {
  const { t } = useTranslation();
  const [url] = useSessionUrl();
  const { data, error } = useInsights(url.session, job, { isAside: true, enabled: true });
  return (
    <Panel
      title={t('nav.insights')}
      note={data?.so_far ? t('insights.asOf', { time: clockTime(data.end_ns) }) : undefined}
      to={toView(url, 'insights', job === undefined ? {} : { job_id: job })}
      testId="panel-insights"
      wide
    >
      <div className={css.body}>
        <PanelBody data={data} error={error} missing={t('insights.noneText')}>
          {(insights) => <Summary insights={insights} />}
        </PanelBody>
      </div>
    </Panel>
  );
}

function Summary({ insights }: { insights: InsightsAnswer }) {
  const { t } = useTranslation();
  const [url] = useSessionUrl();
  const verdict = useVerdict(insights);
  const texts = useFindingTexts();
  const { findings, job_id: job } = insights;
  return (
    <>
      {verdict !== null && (
        <p>
          <b>{verdict.bound}</b> {verdict.remedy} <VerdictActor insights={insights} />
        </p>
      )}
      {findings.length === 0 ? (
        <p className={words.dim}>{t('insights.findings.noneText')}</p>
      ) : (
        <ul>
          {findings.slice(0, SHOWN).map((finding, at) => (
            <li
              // biome-ignore lint/suspicious/noArrayIndexKey: two may have the same name.
              key={`${findingKey(finding)} ${at}`}
              className={css.line}
              data-tone={severityTone(finding.severity)}
            >
              <Severity severity={finding.severity} />
              <span className={words.ellipsis}>
                <Link
                  to={toFinding(url, job, finding)}
                  className={`${words.link} ${words.name}`}
                  testId="panel-finding"
                >
                  {texts.title(finding.kind, finding.title)}
                </Link>{' '}
                <span className={words.mono}>{texts.place(finding)}</span>
              </span>
              <span className={words.num}>{texts.gain(finding)}</span>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
