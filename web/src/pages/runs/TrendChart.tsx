import { useTranslation } from 'react-i18next';
import type { TrendAnswer, TrendPoint } from '../../api/schema';
import { duration, percent, time } from '../../base/format';
import words from '../../ui/theme/words.module.css';
import { RunLink } from './RunLink';
import css from './RunsPage.module.css';
import { sinceText } from './sinceText';
import { firstUsual, placeOf, placeOfRun, rangeOf } from './trend';

/**
 * A point for each run, the usual range as a band, the baseline as a line, and a vertical line before the
 * first run of each new level.
 */
export function TrendChart({ trend, lang }: { trend: TrendAnswer; lang?: string }) {
  const { t } = useTranslation();
  const { points, usual, changes, baseline_ns: baseline } = trend;
  const range = rangeOf(trend);
  const place = (value: number) => `${placeOf(value, range)}%`;
  const starts = changes.map((change) => ({
    change,
    at: points.findIndex(({ session, job_id }) => session === change.session && job_id === change.job_id),
  }));
  return (
    <div className={css.chart}>
      <span className={`${css.scale} ${words.num} ${words.dim}`} aria-hidden>
        <span>{duration(Math.round(range.high))}</span>
        <span>{duration(Math.round(range.low))}</span>
      </span>
      <div className={css.plot} data-testid="trend-chart">
        {usual !== null && (
          <div
            className={css.band}
            style={{
              left: `${(100 * firstUsual(trend)) / Math.max(1, points.length)}%`,
              bottom: place(usual.low_ns),
              height: `${placeOf(usual.high_ns, range) - placeOf(usual.low_ns, range)}%`,
            }}
            title={t('runs.usualRange', {
              low: duration(usual.low_ns),
              high: duration(usual.high_ns),
              n: usual.runs,
            })}
          >
            <span className={`${css.note} ${css.below}`}>{t('runs.usualBand')}</span>
          </div>
        )}
        {baseline !== null && (
          <div className={css.baseline} style={{ bottom: place(baseline) }}>
            <span className={`${css.note} ${css.right}`}>
              {t('runs.baselineLine', { value: duration(baseline) })}
            </span>
          </div>
        )}
        {starts.map(({ change, at }) => (
          <div
            key={change.session + change.job_id}
            className={css.step}
            data-verdict={change.ratio > 1 ? 'slower' : 'faster'}
            style={{ left: `${(100 * at) / Math.max(1, points.length)}%` }}
            title={sinceText(change, t)}
            data-testid="trend-step"
          />
        ))}
        {points.map((point, at) =>
          point.value_ns === null ? null : (
            <span
              key={`${point.session}/${point.job_id}`}
              className={css.spot}
              data-verdict={trend.function === null ? point.verdict : undefined}
              data-counts={point.counts}
              style={{ left: `${placeOfRun(at, points.length)}%`, bottom: place(point.value_ns) }}
            >
              <RunLink
                run={point}
                lang={lang}
                className={css.dot}
                title={pointText(point)}
                label={pointText(point)}
                testId="trend-point"
              />
            </span>
          ),
        )}
      </div>
      <span className={`${css.ends} ${words.num} ${words.dim}`}>
        <span>{time(points[0]?.begin_ns)}</span>
        {points.length > 1 && <span>{time(points.at(-1)?.begin_ns)}</span>}
      </span>
    </div>
  );

  function pointText(point: TrendPoint): string {
    const { verdict, ratio } = point;
    const change = ratio === null ? '' : `${percent(Math.abs(ratio - 1))}%`;
    return [
      point.name || point.job_id,
      `${time(point.begin_ns)} · ${duration(point.value_ns)}`,
      trend.function === null && verdict !== 'unknown' && t(`runs.verdict.${verdict}`, { change }),
      !point.counts && t('runs.notCounted'),
      point.baseline && t('runs.baseline'),
      point.tags.join(', '),
      point.git_commit?.slice(0, 8),
    ]
      .filter(Boolean)
      .join('\n');
  }
}
