import { Loader, Select } from '@mantine/core';
import { IconStethoscope } from '@tabler/icons-react';
import { useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { isMissing } from '../../api/client';
import { type Change, useInsights, useLongInsights } from '../../api/insights';
import { isOfDriver } from '../../api/jobs';
import { useJobChoices } from '../../api/queries';
import type { InsightsAnswer } from '../../api/schema';
import { withFilter, withSettings } from '../../base/url';
import { EmptyState } from '../../ui/EmptyState';
import { ErrorPanel } from '../../ui/ErrorPanel';
import { choices, jobLabel } from '../../ui/filterChoices';
import { Toolbar } from '../../ui/Toolbar';
import layout from '../../ui/theme/layout.module.css';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import { Causes } from './Causes';
import { Findings } from './Findings';
import { Gains } from './Gains';
import css from './InsightsPage.module.css';
import { useChanges } from './useChanges';
import { VerdictHead } from './VerdictHead';
import { WhatIf } from './WhatIf';

/** The insights page: a job's bottlenecks, remedies, and the time that these would save. */
export default function InsightsPage() {
  const { t } = useTranslation();
  const [url] = useSessionUrl();
  const { data, error, refetch, isPlaceholderData } = useInsights(url.session, url.filters.job_id);
  return (
    <div className={layout.scrollPage} data-testid="insights-page">
      <JobChoice job={url.filters.job_id ?? data?.job_id} />
      {data !== undefined ? (
        <div className={css.panels} data-outdated={isPlaceholderData || undefined}>
          <Answer key={data.job_id} soon={data} />
        </div>
      ) : isMissing(error) ? (
        <EmptyState icon={<IconStethoscope size={26} />} title={t('insights.none')}>
          {t('insights.noneText')}
        </EmptyState>
      ) : error !== null ? (
        <ErrorPanel error={error} onRetry={() => void refetch()} />
      ) : (
        <p className={`${css.loading} ${words.dim}`}>
          <Loader size={14} /> {t('insights.loading')}
        </p>
      )}
    </div>
  );
}

/**
 * The content of the page. `soon` is the answer without long replays, which are requested only if the job has
 * ended.
 */
function Answer({ soon }: { soon: InsightsAnswer }) {
  const takesLong = soon.withheld?.code === 'takes_long' && !soon.so_far;
  const insights = useLongInsights(soon.session, soon.job_id, takesLong) ?? soon;
  const [, setChanges] = useChanges();
  const [tries, setTries] = useState(0);
  const whatIf = useRef<HTMLDivElement>(null);
  const tryOut = (change: Change) => {
    setChanges(() => [change]);
    // Reset the panel. Otherwise it would keep showing the previous function.
    setTries((before) => before + 1);
    whatIf.current?.scrollIntoView({ block: 'start', behavior: 'smooth' });
  };
  return (
    <>
      <VerdictHead insights={insights} />
      <Causes insights={insights} />
      <Findings insights={insights} />
      <Gains insights={insights} onTry={tryOut} />
      <div ref={whatIf} className={css.whatIf}>
        <WhatIf key={tries} insights={insights} />
      </div>
    </>
  );
}

/** A choice of the job, shown if the session has several. */
function JobChoice({ job }: { job: string | undefined }) {
  const { t } = useTranslation();
  const [url, change] = useSessionUrl();
  const jobs = useJobChoices(url.session).data?.items;
  // A submission without a driver has no tasks.
  const options = choices(jobs, 'job_id', jobLabel, job).filter(({ value }) => isOfDriver(value));
  if (options.length < 2) return <div className={css.top} />;
  return (
    <Toolbar>
      <span className={words.dim}>{t('insights.job')}</span>
      <Select
        size="xs"
        w={320}
        aria-label={t('insights.job')}
        value={job ?? null}
        allowDeselect={false}
        data={options}
        onChange={(value) =>
          change((before) =>
            withSettings(withFilter(before, 'job_id', value ?? undefined), {
              finding: undefined,
              changes: undefined,
            }),
          )
        }
        data-testid="insights-job"
      />
    </Toolbar>
  );
}
