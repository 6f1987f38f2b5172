import { Loader } from '@mantine/core';
import { IconTableRow } from '@tabler/icons-react';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { get } from '../../api/client';
import { useSessionInterval } from '../../api/queries';
import { EmptyState } from '../../ui/EmptyState';
import { ErrorPanel } from '../../ui/ErrorPanel';
import { LibraryProblem } from '../../ui/LibraryProblem';
import layout from '../../ui/theme/layout.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import { DatasetDetails } from './DatasetDetails';
import { DatasetTable } from './DatasetTable';

/** The Ray Data page: all datasets, and details of the chosen or newest one. */
export default function DataPage() {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  const interval = useSessionInterval(url.session);
  const { data, error, refetch } = useQuery({
    queryKey: ['datasets', url.session],
    queryFn: ({ signal }) => get('/data', { session: url.session, limit: 1000 }, signal),
    placeholderData: keepPreviousData,
    refetchInterval: interval,
  });
  if (error !== null && data === undefined)
    return <ErrorPanel error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <Loader size="sm" m="md" aria-label={t('nav.data')} />;
  const chosen = data.items.find((one) => one.dataset_id === url.item) ?? data.items[0];
  return (
    <div className={layout.scrollPage} data-testid="data-page">
      <LibraryProblem problem={data.problem} />
      {chosen === undefined ? (
        <EmptyState icon={<IconTableRow size={26} />} title={t('data.none')}>
          {t('data.noneText')}
        </EmptyState>
      ) : (
        <>
          <DatasetTable datasets={data.items} chosen={chosen.dataset_id} />
          <DatasetDetails key={chosen.dataset_id} id={chosen.dataset_id} />
        </>
      )}
    </div>
  );
}
