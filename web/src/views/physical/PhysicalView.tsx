import { IconServer2 } from '@tabler/icons-react';
import { useCallback, useMemo, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import type { Summary } from '../../api/schema';
import { uniqueNames } from '../../base/nodeTitle';
import { EmptyState } from '../../ui/EmptyState';
import { ErrorPanel } from '../../ui/ErrorPanel';
import { FilterBar } from '../../ui/FilterBar';
import layout from '../../ui/theme/layout.module.css';
import panels from '../shared/panels.module.css';
import { SaveMenu } from '../shared/SaveMenu';
import { TimeSlider } from '../shared/TimeSlider';
import { useShownMoment } from '../shared/useShownMoment';
import { PhysicalCanvas, type Target } from './PhysicalCanvas';
import { PhysicalLeftOut } from './PhysicalLeftOut';
import { ClusterSums, Legend, TransferList } from './PhysicalOverview';
import { PhysicalPanel } from './PhysicalPanel';
import { PhysicalToolbar, SPANS } from './PhysicalToolbar';
import { matches, parseColor, SIZE_BYTES } from './physical';
import shared from './physical.module.css';
import { useNode, usePhysical, useTransfers } from './usePhysical';
import { usePhysicalContent } from './usePhysicalContent';

/** The physical view: nodes with their workers and actors, and the objects transferred between nodes. */
export default function PhysicalView({ summary }: { summary: Summary | undefined }) {
  const { url, settings, activity, at, isNamed, isReady, set } = useShownMoment();
  const { t } = useTranslation();
  const size = settings.size ?? 'CPU';
  const color = useMemo(() => parseColor(settings.color), [settings.color]);
  const span = SPANS.find((one) => one === settings.span);
  const showsArrows = settings.span !== 'off';
  const query = usePhysical(url.session, at, url.filters, {
    annotation: color.by === 'annotation' ? color.name : undefined,
    bytes: size === SIZE_BYTES,
    isReady,
  });
  const transfers = useTransfers(url.session, at, span === undefined ? undefined : Number(span) * 1e9);
  const node = useNode(url.session, at, settings.node, url.filters);
  const picture = useRef<HTMLCanvasElement | null>(null);
  const { data } = query;
  const atNs = at === undefined ? (data?.at_ns ?? null) : Number(at);

  const select = useCallback(
    (target: Target) =>
      set({ node: data?.nodes[target.node]?.node_id, worker: data?.workers.key[target.worker] }),
    [set, data],
  );
  const names = useMemo(() => uniqueNames(data?.nodes ?? []), [data]);
  const nameOf = useMemo(
    () => new Map((data?.nodes ?? []).map((one, place) => [one.node_id, names[place] ?? one.name])),
    [data, names],
  );
  const find = settings.find ?? '';
  const found = useMemo(() => (data === undefined ? null : matches(data, find)), [data, find]);
  const content = usePhysicalContent(data, transfers.data, names, found);

  const isEmpty = data !== undefined && data.nodes.length === 0;
  return (
    <div className={layout.view} data-testid="physical-view">
      <FilterBar
        summary={summary}
        menu={
          <SaveMenu
            view="physical"
            disabled={data === undefined || isEmpty}
            picture={picture}
            data={{ physical: data, transfers: transfers.data }}
            moment={atNs}
          />
        }
      />
      <TimeSlider
        activity={activity}
        at={atNs}
        follows={!isNamed}
        live={data?.live ?? false}
        onAt={(ns) => set({ at: ns === undefined ? undefined : String(ns) })}
      />
      <PhysicalToolbar data={data} found={found} />
      {query.error !== null && data === undefined ? (
        <ErrorPanel error={query.error} onRetry={() => void query.refetch()} />
      ) : isEmpty ? (
        <div className={`${layout.viewBody} ${panels.body}`}>
          <EmptyState icon={<IconServer2 size={26} />} title={t('physical.empty')}>
            {t(activity?.begin_ns == null ? 'table.emptyLive' : 'physical.emptyText')}
          </EmptyState>
        </div>
      ) : (
        data !== undefined &&
        content !== null && (
          <div
            className={`${layout.viewBody} ${panels.body} ${shared.body}`}
            data-outdated={query.isPlaceholderData || undefined}
          >
            <div className={`${layout.viewMain} ${panels.left}`}>
              <PhysicalLeftOut data={data} />
              <PhysicalCanvas
                content={content}
                picture={picture}
                escapes={url.task === undefined}
                onSelect={select}
              />
            </div>
            <aside
              className={`${panels.side} ${shared.right}`}
              data-under-drawer
              aria-label={t('common.details')}
              onKeyDown={(event) => {
                // If a task's panel is open, Escape closes it first.
                if (event.key === 'Escape' && url.task === undefined)
                  set({ node: undefined, worker: undefined });
              }}
            >
              {settings.node !== undefined ? (
                <PhysicalPanel
                  answer={node.data}
                  error={node.error}
                  name={nameOf.get(settings.node) ?? settings.node.slice(0, 12)}
                  worker={settings.worker}
                  at={atNs}
                  onSelect={(worker) => set({ worker })}
                  onClose={() => set({ node: undefined, worker: undefined })}
                />
              ) : (
                <ClusterSums data={data} />
              )}
              {showsArrows && settings.worker === undefined && (
                <TransferList
                  transfers={transfers.data}
                  error={transfers.error}
                  names={nameOf}
                  node={settings.node}
                  onNode={(id) => set({ node: id, worker: undefined })}
                />
              )}
              <Legend data={data} color={color} />
            </aside>
          </div>
        )
      )}
    </div>
  );
}
