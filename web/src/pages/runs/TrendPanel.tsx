import { Button, Loader } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { isMissing } from '../../api/client';
import { refreshEnded } from '../../api/connection';
import { answerTo } from '../../api/queries';
import type { FunctionTrend, TrendAnswer } from '../../api/schema';
import { changeText, count, duration, shortId } from '../../base/format';
import { type RunsUrl, withFilter } from '../../base/url';
import { ErrorPanel } from '../../ui/ErrorPanel';
import { Link } from '../../ui/Link';
import words from '../../ui/theme/words.module.css';
import { RunLink } from './RunLink';
import css from './RunsPage.module.css';
import { groupName } from './runColumns';
import { sinceText } from './sinceText';
import { TrendChart } from './TrendChart';
import { linesThrough } from './trend';

/** Number of functions that are shown at first, besides those that changed. */
const FUNCTIONS = 6;
/** Number of runs from which the server finds changes of level: three before and three after. */
const MIN_RUNS = 6;
const SPARK = { width: 160, height: 22 };
/** Length of a git commit as it is shown. */
const COMMIT = 8;

/** The trend of a group: its runs, the usual range, the changes of level, and its functions. */
export function TrendPanel({ url, script }: { url: RunsUrl; script: string }) {
  const { t } = useTranslation();
  const { variant } = url.filters;
  const query = useQuery({
    ...answerTo('/runs/trend', { script, variant, function: url.filters.function }),
    refetchInterval: refreshEnded,
    placeholderData: keepPreviousData,
  });
  const trend = query.data;
  // The list below says that there is no such run.
  if (isMissing(query.error)) return null;
  if (trend === undefined)
    return query.error === null ? <Loader size="sm" m="md" /> : <ErrorPanel error={query.error} />;
  const name = groupName({ script, variant: variant ?? '' });
  return (
    <div className={css.panels}>
      <section className={css.panel} data-testid="trend">
        <h2>
          {trend.function === null
            ? t('runs.trend', { name })
            : t('runs.trendOf', { function: trend.function, name })}{' '}
          <span className={words.dim}>
            · {t('runs.trendHint', { n: count(trend.points.length) })}
            {trend.function !== null && ` · ${t('runs.trendMean')}`}
            {trend.runs_left_out > 0 && ` · ${t('runs.trendOlder', { n: count(trend.runs_left_out) })}`}
          </span>
          {trend.function !== null && (
            <Link to={withFilter(url, 'function', undefined)} className={`${words.link} ${css.whole}`}>
              {t('runs.wholeRun')}
            </Link>
          )}
        </h2>
        <TrendChart trend={trend} lang={url.lang} />
        <Changes trend={trend} url={url} />
      </section>
      <Functions trend={trend} url={url} />
    </div>
  );
}

function Changes({ trend, url }: { trend: TrendAnswer; url: RunsUrl }) {
  const { t } = useTranslation();
  const known = trend.points.filter(({ counts, value_ns }) => counts && value_ns !== null);
  const isFew = known.length < MIN_RUNS;
  return (
    <ul className={css.changes}>
      {trend.changes.length === 0 && (
        <li className={words.dim}>{t(isFew ? 'runs.fewRuns' : 'runs.noChange', { n: MIN_RUNS })}</li>
      )}
      {[...trend.changes].reverse().map((change) => (
        <li key={change.session + change.job_id} data-testid="trend-change">
          <span className={css.verdict} data-verdict={change.ratio > 1 ? 'slower' : 'faster'}>
            {sinceText(change, t)}
          </span>
          <span className={words.num}>
            {t('runs.changedFrom', {
              before: duration(change.before_ns),
              after: duration(change.after_ns),
            })}
          </span>
          <RunLink run={change} lang={url.lang} title={change.session}>
            {t('runs.changedRun', { run: shortId(change.job_id) })}
          </RunLink>
          {change.git_commit !== null && (
            <span className={words.mono} title={change.git_commit}>
              {t('runs.changedCommit', { commit: change.git_commit.slice(0, COMMIT) })}
            </span>
          )}
        </li>
      ))}
      {trend.usual === null && <li className={words.dim}>{t('runs.noUsual')}</li>}
    </ul>
  );
}

/** The functions of the runs, each with a small trend. */
function Functions({ trend, url }: { trend: TrendAnswer; url: RunsUrl }) {
  const { t } = useTranslation();
  const [isWhole, setWhole] = useState(false);
  const { functions } = trend;
  const changed = functions.filter(({ changes }) => changes.length > 0).length;
  const shown = isWhole ? functions : functions.slice(0, Math.max(changed, FUNCTIONS));
  return (
    <section className={css.panel} data-testid="trend-functions">
      <h2>
        {t('runs.functions')} <span className={words.dim}>· {t('runs.functionsHint')}</span>
      </h2>
      {functions.length === 0 && <p className={words.dim}>{t('runs.noFunctions')}</p>}
      <ul className={css.functions}>
        {shown.map((one) => (
          <FunctionRow key={one.name} trend={one} url={url} isOpen={one.name === trend.function} />
        ))}
      </ul>
      {shown.length < functions.length && (
        <Button size="compact-xs" variant="default" onClick={() => setWhole(true)}>
          {t('runs.showAll', { n: count(functions.length) })}
        </Button>
      )}
    </section>
  );
}

function FunctionRow(props: { trend: FunctionTrend; url: RunsUrl; isOpen: boolean }) {
  const { trend, url, isOpen } = props;
  const { t } = useTranslation();
  const change = trend.changes.at(-1);
  const newest = trend.values_ns.findLast((value) => value !== null);
  const [before, last] = trend.values_ns.slice(-2);
  return (
    <li className={css.function} data-open={isOpen || undefined} data-testid="trend-function">
      <Link
        to={withFilter(url, 'function', isOpen ? undefined : trend.name)}
        className={`${words.link} ${words.ellipsis} ${words.name}`}
        title={trend.name}
      >
        {trend.name}
      </Link>
      <svg
        viewBox={`0 -2 ${SPARK.width} ${SPARK.height + 4}`}
        preserveAspectRatio="none"
        className={css.spark}
        aria-hidden
      >
        {linesThrough(trend.values_ns, SPARK.width, SPARK.height).map((points) => (
          <polyline key={points} points={points} />
        ))}
      </svg>
      <span className={words.num}>{duration(newest)}</span>
      {change === undefined ? (
        <span className={`${words.dim} ${words.num} ${words.ellipsis}`}>
          {last != null &&
            before != null &&
            before > 0 &&
            t('runs.againstBefore', { change: changeText(last / before) })}
        </span>
      ) : (
        <span
          className={`${css.verdict} ${words.ellipsis}`}
          data-verdict={change.ratio > 1 ? 'slower' : 'faster'}
        >
          {sinceText(change, t)}
        </span>
      )}
    </li>
  );
}
