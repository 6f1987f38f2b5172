import { Loader } from '@mantine/core';
import { IconCloudComputing } from '@tabler/icons-react';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { get } from '../../api/client';
import { useSessionInterval } from '../../api/queries';
import { EmptyState } from '../../ui/EmptyState';
import { ErrorPanel } from '../../ui/ErrorPanel';
import { LibraryProblem } from '../../ui/LibraryProblem';
import layout from '../../ui/theme/layout.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import { ApplicationDetails } from './ApplicationDetails';
import { ApplicationTable } from './ApplicationTable';
import { InstanceDetails } from './InstanceDetails';

/** The Ray Serve page: all applications, the chosen (or first) one, and Serve's system actors. */
export default function ServePage() {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  const interval = useSessionInterval(url.session);
  const { data, error, refetch } = useQuery({
    queryKey: ['serve', url.session],
    queryFn: ({ signal }) => get('/serve', { session: url.session, limit: 1000 }, signal),
    placeholderData: keepPreviousData,
    refetchInterval: interval,
  });
  if (error !== null && data === undefined)
    return <ErrorPanel error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <Loader size="sm" m="md" aria-label={t('nav.serve')} />;
  const chosen = data.items.find((one) => one.name === url.item) ?? data.items[0];
  return (
    <div className={layout.scrollPage} data-testid="serve-page">
      <LibraryProblem problem={data.problem} />
      {chosen === undefined ? (
        <EmptyState icon={<IconCloudComputing size={26} />} title={t('serve.none')}>
          {t('serve.noneText')}
        </EmptyState>
      ) : (
        <>
          <ApplicationTable applications={data.items} chosen={chosen.name} />
          <ApplicationDetails key={chosen.name} name={chosen.name} />
        </>
      )}
      <InstanceDetails proxies={data.proxies} controllers={data.controllers} />
    </div>
  );
}
