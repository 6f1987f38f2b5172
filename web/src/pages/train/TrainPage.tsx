import { Loader } from '@mantine/core';
import { IconSchool } from '@tabler/icons-react';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { get } from '../../api/client';
import { useSessionInterval } from '../../api/queries';
import { EmptyState } from '../../ui/EmptyState';
import { ErrorPanel } from '../../ui/ErrorPanel';
import { LibraryProblem } from '../../ui/LibraryProblem';
import layout from '../../ui/theme/layout.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import { RunDetails } from './RunDetails';
import { RunTable } from './RunTable';

/** The Ray Train page: all runs, and details of the chosen or newest one. */
export default function TrainPage() {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  const interval = useSessionInterval(url.session);
  const { data, error, refetch } = useQuery({
    queryKey: ['train-runs', url.session],
    queryFn: ({ signal }) => get('/train', { session: url.session, limit: 1000 }, signal),
    placeholderData: keepPreviousData,
    refetchInterval: interval,
  });
  if (error !== null && data === undefined)
    return <ErrorPanel error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <Loader size="sm" m="md" aria-label={t('nav.train')} />;
  const chosen = data.items.find((one) => one.run_id === url.item) ?? data.items[0];
  return (
    <div className={layout.scrollPage} data-testid="train-page">
      <LibraryProblem problem={data.problem} />
      {chosen === undefined ? (
        <EmptyState icon={<IconSchool size={26} />} title={t('train.none')}>
          {t('train.noneText')}
        </EmptyState>
      ) : (
        <>
          <RunTable runs={data.items} chosen={chosen.run_id} />
          <RunDetails key={chosen.run_id} id={chosen.run_id} />
        </>
      )}
    </div>
  );
}
