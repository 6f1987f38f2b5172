import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { useLongProgress } from '../../api/insights';
import type { InsightsAnswer } from '../../api/schema';
import { clockTime, count, duration } from '../../base/format';
import { useVerdict } from '../../ui/insights/useVerdict';
import { VerdictActor } from '../../ui/insights/VerdictActor';
import { Prose } from '../../ui/Prose';
import { ShareBar } from '../../ui/ShareBar';
import words from '../../ui/theme/words.module.css';
import { useWithheld } from './useWithheld';
import css from './VerdictHead.module.css';

/** A sentence about the job's bottleneck, key figures and, if nothing is predicted, why not. */
export function VerdictHead({ insights }: { insights: InsightsAnswer }) {
  const { t } = useTranslation();
  const verdict = useVerdict(insights);
  const withheld = useWithheld(insights);
  const takesLong = insights.withheld?.code === 'takes_long';
  const { calibration, so_far: soFar, end_ns: end, utilisation, attempts } = insights;
  const { recorded_ns: recorded, replayed_ns: replayed, error } = calibration;
  return (
    <section className={css.head} data-testid="verdict">
      {verdict !== null && (
        <div className={css.sentence}>
          <p className={css.bound} data-testid="verdict-bound">
            {verdict.bound} <VerdictActor insights={insights} />
          </p>
          {verdict.remedy !== null && (
            <p className={css.remedy} data-testid="verdict-remedy">
              {verdict.remedy}
            </p>
          )}
        </div>
      )}
      <dl className={css.facts}>
        <Fact
          name={t(soFar ? 'insights.facts.soFar' : 'insights.facts.duration')}
          hint={soFar ? t('insights.facts.soFarHint', { time: clockTime(end) }) : undefined}
        >
          {duration(recorded)}
        </Fact>
        <Fact name={t('insights.facts.attempts')}>{count(attempts)}</Fact>
        {utilisation !== null && (
          <Fact name={t('insights.facts.utilisation')} hint={t('insights.facts.utilisationHint')}>
            {Math.round(100 * utilisation)}%
          </Fact>
        )}
        {error !== null && (
          <Fact
            name={t('insights.facts.error')}
            hint={t('insights.facts.errorHint', { replayed: duration(replayed) })}
          >
            <span data-testid="calibration">{errorText(error)}</span>
          </Fact>
        )}
      </dl>
      {insights.not_recorded.map(({ code, events }) => (
        <p className={css.withheld} role="note" data-testid="not-recorded" key={code}>
          <b>{t('insights.notRecorded.title')}</b>{' '}
          {t(`insights.notRecorded.${code}`, { n: events ?? 0, events: count(events ?? 0) })}
        </p>
      ))}
      {withheld !== null && (
        <p className={css.withheld} role="note" data-testid="withheld">
          <b>{t(takesLong ? 'insights.withheld.notYet' : 'insights.withheld.title')}</b>{' '}
          <Prose text={withheld} /> {t('insights.withheld.consequence')}
          {takesLong && (soFar ? ` ${t('insights.withheld.later')}` : <Replaying insights={insights} />)}
        </p>
      )}
    </section>
  );
}

/** Progress of long replays. */
function Replaying({ insights }: { insights: InsightsAnswer }) {
  const { t } = useTranslation();
  const share = useLongProgress(insights.session, insights.job_id);
  return (
    <span className={css.replaying} data-testid="replaying">
      <ShareBar share={share} />
      <span className={words.num}>
        {t('insights.withheld.replaying', { percents: Math.floor(100 * share) })}
      </span>
    </span>
  );
}

/** The relative error of a replay without its sign: `0.3%`, `9%`. */
function errorText(error: number): string {
  const percents = Math.abs(error) * 100;
  if (percents < 0.05) return '0%';
  return `${percents < 9.95 ? percents.toFixed(1) : percents.toFixed(0)}%`;
}

function Fact({ name, hint, children }: { name: string; hint?: string; children: ReactNode }) {
  return (
    <div className={css.fact}>
      <dt className={words.dim}>{name}</dt>
      <dd>
        <span className={`${css.figure} ${words.num}`}>{children}</span>
        {hint !== undefined && <span className={css.hint}>{hint}</span>}
      </dd>
    </div>
  );
}
