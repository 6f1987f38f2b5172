import { Loader } from '@mantine/core';
import { IconSitemap } from '@tabler/icons-react';
import { lazy, Suspense, useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { ApiError } from '../../api/client';
import { useCriticalPath } from '../../api/criticalPath';
import type { Summary } from '../../api/schema';
import { count } from '../../base/format';
import { onlyMineOf, withSettings } from '../../base/url';
import { EmptyState, NoMatches } from '../../ui/EmptyState';
import { ErrorPanel } from '../../ui/ErrorPanel';
import { FilterBar } from '../../ui/FilterBar';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import type { OnUnfold } from './LogicalNodes';
import { LogicalNotes } from './LogicalNotes';
import { LogicalPanel } from './LogicalPanel';
import { LogicalToolbar } from './LogicalToolbar';
import css from './LogicalView.module.css';
import { type Shown, shownEdges, toggleUnfolded, weightOf, withoutMinor } from './logicalModel';
import { useLogical } from './useLogical';
import { useLogicalLayout } from './useLogicalLayout';

const LogicalCanvas = lazy(() =>
  import('./LogicalCanvas').then((found) => ({ default: found.LogicalCanvas })),
);

/** The logical graph: functions and actor classes, their calls and their data flow. */
export default function LogicalView({ summary }: { summary: Summary | undefined }) {
  const [url, change] = useSessionUrl();
  const { t } = useTranslation();
  const graph = useLogical();
  const withMinor = url.settings?.minor === '1';
  const minor = useMemo(() => graph.data && withoutMinor(graph.data), [graph.data]);
  const answer = withMinor ? graph.data : minor?.graph;
  const weight = weightOf(url.settings);
  const path = useCriticalPath(url.session, url.filters.job_id, weight === 'critical_path').data;
  const hidden = url.settings?.hide;
  const shown = useMemo<Shown>(() => shownEdges({ hide: hidden }), [hidden]);
  const find = url.settings?.find ?? '';
  const { expand, fold, unfold } = url.settings ?? {};
  const question = JSON.stringify([
    url.session,
    url.filters,
    expand,
    fold,
    withMinor,
    onlyMineOf(url),
    unfold,
  ]);
  const { layout, arrangedGraph, failed, arrange, arranged } = useLogicalLayout(
    graph.isPlaceholderData ? undefined : answer,
    question,
    url.session,
  );
  const selected = arrangedGraph?.nodes.find((node) => node.id === url.settings?.node);
  const select = (id: string | undefined) =>
    change((before) => withSettings(before, { node: id }), { replace: true });
  const toggle: OnUnfold = (setting, name) =>
    change((before) =>
      withSettings(before, { ...toggleUnfolded(before.settings, setting, name), node: undefined }),
    );
  const filtered = Object.keys(url.filters).length > 0;
  return (
    <>
      <FilterBar
        summary={summary}
        count={
          answer && (
            <span
              className={`${words.num} ${words.dim}`}
              data-testid="logical-count"
              data-attempts={answer.attempts}
            >
              {t('logical.shown', { nodes: count(answer.nodes.length), attempts: count(answer.attempts) })}
            </span>
          )
        }
      />
      <LogicalToolbar
        answer={arrangedGraph}
        layout={layout}
        shown={shown}
        minor={minor?.hidden ?? 0}
        pathJob={weight === 'critical_path' ? path?.job_id : undefined}
      />
      {answer && <LogicalNotes answer={answer} onUnfold={toggle} />}
      <div className={css.logical} data-outdated={graph.isPlaceholderData || undefined}>
        {graph.error !== null && answer === undefined ? (
          <ErrorPanel error={graph.error} onRetry={() => void graph.refetch()} />
        ) : failed !== null && arrangedGraph === undefined ? (
          <ErrorPanel
            error={new ApiError(0, 'layout', failed.message, t('logical.layoutRemedy'))}
            title={t('logical.layoutFailed')}
            onRetry={arrange}
          />
        ) : answer?.nodes.length === 0 ? (
          filtered ? (
            <NoMatches />
          ) : (
            <EmptyState icon={<IconSitemap size={26} />} title={t('logical.empty')}>
              {t('logical.emptyText')}
            </EmptyState>
          )
        ) : arrangedGraph === undefined || layout === undefined ? (
          <LayoutProgress />
        ) : (
          <Suspense fallback={<LayoutProgress />}>
            <LogicalCanvas
              graph={arrangedGraph}
              layout={layout}
              question={arranged}
              weight={weight}
              path={path}
              shown={shown}
              find={find}
              selected={selected?.id}
              onSelect={select}
              onUnfold={toggle}
              onArrange={arrange}
            />
          </Suspense>
        )}
        {selected !== undefined && arrangedGraph !== undefined && answer?.nodes.length !== 0 && (
          <LogicalPanel graph={arrangedGraph} node={selected} onSelect={select} />
        )}
      </div>
    </>
  );
}

function LayoutProgress() {
  const { t } = useTranslation();
  return (
    <div className={css.wait} role="status">
      <Loader size="sm" /> <span className={words.dim}>{t('logical.laying')}</span>
    </div>
  );
}
