import { Button, Loader, Title } from '@mantine/core';
import { IconArrowLeft, IconFileText, IconGitCompare } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { apiPath } from '../../api/client';
import { refreshEnded } from '../../api/connection';
import { answerTo } from '../../api/queries';
import type { CompareAnswer } from '../../api/schema';
import { REPORT } from '../../base/report';
import type { CompareUrl } from '../../base/url';
import { useTitle } from '../../shell/useTitle';
import { EmptyState } from '../../ui/EmptyState';
import { ErrorPanel } from '../../ui/ErrorPanel';
import { Link } from '../../ui/Link';
import layout from '../../ui/theme/layout.module.css';
import { useUrl } from '../../ui/useUrl';
import css from './ComparePage.module.css';
import { Differences } from './Differences';
import { Findings } from './Findings';
import { Functions } from './Functions';
import { Lines } from './Lines';
import { Pictures } from './Pictures';
import { Sides } from './Sides';
import { Verdict } from './Verdict';
import { Warnings } from './Warnings';
import { Waterfall } from './Waterfall';

/** Two sides of runs: whether B is slower than A, and where the difference comes from. */
export default function ComparePage() {
  const url = useUrl();
  const { t } = useTranslation();
  useTitle(t('compare.title'));
  if (url.page !== 'compare') return null;
  const toSessions = { page: 'sessions', filters: {}, lang: url.lang } as const;
  return (
    <main className={`${layout.main} ${css.page}`} id="main" tabIndex={-1} data-testid="compare-page">
      <header className={css.head}>
        {REPORT === null && (
          <Link to={toSessions} className={css.back} label={t('app.toSessions')} title={t('app.toSessions')}>
            <IconArrowLeft size={20} aria-hidden />
          </Link>
        )}
        <Title order={1}>{t('compare.title')}</Title>
        {REPORT === null && url.b && (
          <Button
            component="a"
            href={apiPath('/report', { a: url.a, b: url.b, margin: url.margin, skip_first: url.skip_first })}
            download
            variant="default"
            size="compact-sm"
            leftSection={<IconFileText size={15} />}
            title={t('app.reportHint')}
            data-testid="compare-report"
          >
            {t('app.report')}
          </Button>
        )}
      </header>
      {url.b ? (
        <Comparison url={url} />
      ) : (
        <EmptyState icon={<IconGitCompare size={30} />} title={t('compare.emptyTitle')}>
          {t('compare.emptyText')} <Link to={toSessions}>{t('app.toSessions')}</Link>
        </EmptyState>
      )}
    </main>
  );
}

/** Without `a`, the server chooses earlier runs of B's script. */
function Comparison({ url }: { url: CompareUrl }) {
  const { a, b, margin, skip_first } = url;
  const query = useQuery({
    ...answerTo('/compare', { a, b, margin, skip_first }),
    refetchInterval: refreshEnded,
  });
  if (query.data !== undefined) return <Answer answer={query.data} url={url} />;
  if (query.error !== null) return <ErrorPanel error={query.error} onRetry={() => void query.refetch()} />;
  return <Loader size="sm" m="md" />;
}

function Answer({ answer, url }: { answer: CompareAnswer; url: CompareUrl }) {
  return (
    <div className={css.panels}>
      <Verdict answer={answer} />
      {answer.warnings.length > 0 && <Warnings warnings={answer.warnings} />}
      <Sides answer={answer} url={url} />
      <Waterfall answer={answer} lang={url.lang} />
      <Pictures answer={answer} />
      <Findings answer={answer} />
      <Functions answer={answer} url={url} />
      {REPORT === null && <Lines answer={answer} />}
      <Differences items={answer.differences} />
    </div>
  );
}
