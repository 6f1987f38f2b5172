import { Loader } from '@mantine/core';
import { IconAdjustmentsHorizontal } from '@tabler/icons-react';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { get } from '../../api/client';
import { useSessionInterval } from '../../api/queries';
import { EmptyState } from '../../ui/EmptyState';
import { ErrorPanel } from '../../ui/ErrorPanel';
import { LibraryProblem } from '../../ui/LibraryProblem';
import layout from '../../ui/theme/layout.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import { ExperimentDetails } from './ExperimentDetails';
import { ExperimentTable } from './ExperimentTable';

/** The Ray Tune page: all experiments, and details of the chosen or newest one. */
export default function TunePage() {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  const interval = useSessionInterval(url.session);
  const { data, error, refetch } = useQuery({
    queryKey: ['tune-experiments', url.session],
    queryFn: ({ signal }) => get('/tune', { session: url.session, limit: 1000 }, signal),
    placeholderData: keepPreviousData,
    refetchInterval: interval,
  });
  if (error !== null && data === undefined)
    return <ErrorPanel error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <Loader size="sm" m="md" aria-label={t('nav.tune')} />;
  // An experiment or one of its trials, as EXPERIMENT/TRIAL.
  const [experimentId, ...rest] = (url.item ?? '').split('/');
  const chosen = data.items.find((one) => one.experiment_id === experimentId) ?? data.items[0];
  const trialId = chosen?.experiment_id === experimentId ? rest.join('/') : '';
  return (
    <div className={layout.scrollPage} data-testid="tune-page">
      <LibraryProblem problem={data.problem} />
      {chosen === undefined ? (
        <EmptyState icon={<IconAdjustmentsHorizontal size={26} />} title={t('tune.none')}>
          {t('tune.noneText')}
        </EmptyState>
      ) : (
        <>
          <ExperimentTable experiments={data.items} chosen={chosen.experiment_id} />
          <ExperimentDetails key={chosen.experiment_id} id={chosen.experiment_id} trialId={trialId} />
        </>
      )}
    </div>
  );
}
