import { Select } from '@mantine/core';
import { IconServer2 } from '@tabler/icons-react';
import { useCallback, useMemo, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import type { Summary } from '../../api/types';
import { count } from '../../base/format';
import { NONE } from '../../base/grid';
import { EmptyState } from '../../ui/EmptyState';
import { ErrorPanel } from '../../ui/ErrorPanel';
import { FilterBar } from '../../ui/FilterBar';
import { InternalSwitch } from '../../ui/LiveTable';
import { FindBox } from '../shared/FindBox';
import { SaveMenu } from '../shared/SaveMenu';
import { TimeSlider } from '../shared/TimeSlider';
import { useActivity } from '../shared/useActivity';
import { useMoment } from '../shared/useMoment';
import { type Content, PhysicalCanvas, type Target } from './PhysicalCanvas';
import { ClusterSums, Legend, TransferList } from './PhysicalOverview';
import { PhysicalPanel } from './PhysicalPanel';
import css from './PhysicalView.module.css';
import {
  COLORS,
  fills,
  MEASURED_NAMES,
  matches,
  nodeNames,
  orderOf,
  type Physical,
  parseColor,
  resourcesOf,
  SIZE_BYTES,
  SIZE_EQUAL,
  slotsOf,
} from './physical';
import shared from './physical.module.css';
import { useNode, usePhysical, useTransfers } from './usePhysical';

/** Arrows between nodes that are drawn. */
const ARROWS = 20;
/** Over how long before the time objects count, s. */
const SPANS = ['10', '60', '600', '3600'] as const;

/** Nodes, on them workers and actors with what they run and hold, and the objects between nodes. */
export function PhysicalView({ summary }: { summary: Summary | undefined }) {
  const { url, settings, at, set } = useMoment();
  const { t } = useTranslation();
  const size = settings.size ?? 'CPU';
  const color = useMemo(() => parseColor(settings.color), [settings.color]);
  const span = SPANS.find((one) => one === settings.span);
  const showsArrows = settings.span !== 'off';
  const query = usePhysical(url.session, at, url.filters, {
    annotation: color.by === 'annotation' ? color.name : undefined,
    bytes: size === SIZE_BYTES,
  });
  const transfers = useTransfers(url.session, at, span === undefined ? undefined : Number(span) * 1e9);
  const activity = useActivity(url.session, url.filters);
  const node = useNode(url.session, at, settings.node, url.filters);
  const picture = useRef<HTMLCanvasElement | null>(null);
  const { data } = query;
  const atNs = at === undefined ? (data?.at_ns ?? null) : Number(at);

  const select = useCallback(
    (target: Target) => set({ node: data?.nodes[target.node]?.id, worker: data?.workers.key[target.worker] }),
    [set, data],
  );
  const find = settings.find ?? '';
  const resources = useMemo(() => (data === undefined ? [] : resourcesOf(data)), [data]);
  const names = useMemo(() => nodeNames(data?.nodes ?? []), [data]);
  const nameOf = useMemo(
    () => new Map((data?.nodes ?? []).map((one, place) => [one.id, names[place] ?? one.name])),
    [data, names],
  );
  const found = useMemo(() => (data === undefined ? null : matches(data, find)), [data, find]);
  const internal = (data?.nodes ?? []).reduce((sum, one) => sum + one.internal, 0);
  const showsInternal = settings.internal === 'show';
  const filtered = Object.keys(url.filters).length > 0;
  const content = useMemo<Content | null>(() => {
    if (data === undefined) return null;
    const slots = slotsOf(data, showsInternal);
    const full = fills(data, size);
    const near = (transfers.data?.pairs ?? []).filter(
      (pair) => settings.node === undefined || pair.source === settings.node || pair.target === settings.node,
    );
    return {
      data,
      names,
      slots,
      most: slots.reduce((all, one) => Math.max(all, one.length), 1),
      order: orderOf(data, settings.order),
      fills: full,
      sized: full.some((part) => part < 1),
      color,
      resource: color.by === 'resource' ? color.name : 'CPU',
      found,
      filtered,
      pairs: showsArrows ? near.slice(0, ARROWS) : [],
      node: data.nodes.findIndex((one) => one.id === settings.node),
      worker: settings.worker === undefined ? NONE : data.workers.key.indexOf(settings.worker),
      texts: {
        driver: t('physical.driver'),
        internal: t('internal.process'),
        head: t('physical.head'),
        idle: t(filtered ? 'physical.noMatch' : 'physical.idle'),
        bundle: t('physical.emptyBundle'),
      },
    };
  }, [
    data,
    names,
    transfers.data,
    settings.node,
    settings.worker,
    settings.order,
    size,
    color,
    found,
    filtered,
    showsArrows,
    showsInternal,
    t,
  ]);

  const isEmpty = data !== undefined && data.nodes.length === 0;
  return (
    <div className="rs-view" data-testid="physical-view">
      <FilterBar
        summary={summary}
        right={
          <SaveMenu
            view="physical"
            disabled={data === undefined || isEmpty}
            picture={picture}
            data={{ physical: data, transfers: transfers.data }}
          />
        }
      />
      <TimeSlider
        activity={activity.data}
        at={atNs}
        follows={at === undefined}
        live={data?.live ?? false}
        onAt={(ns) => set({ at: ns === undefined ? undefined : String(ns) })}
      />
      <div className={`rs-callstack-bar ${css.bar}`}>
        <span className="rs-num" data-testid="physical-count">
          {data === undefined
            ? t('physical.loading')
            : t('physical.count', {
                nodes: count(data.nodes_total),
                workers: count(data.workers_total - (showsInternal ? 0 : internal)),
              })}
        </span>
        <InternalSwitch hidden={internal} />
        <div className="rs-filters-right">
          <Choice
            name="size"
            value={size}
            fallback="CPU"
            onChange={(value) => set({ size: value })}
            options={[
              ...resources.map((name) => ({ value: name, label: t('physical.sizeOf', { what: name }) })),
              { value: SIZE_BYTES, label: t('physical.sizeOf', { what: t('physical.sizeBytes') }) },
              { value: SIZE_EQUAL, label: t('physical.sizeOf', { what: t('physical.sizeEqual') }) },
            ]}
          />
          <Choice
            name="color"
            value={settings.color ?? 'function'}
            fallback="function"
            onChange={(value) => set({ color: value })}
            options={[
              ...COLORS.map((by) => ({
                value: by,
                label: t('physical.colorOf', { what: t(`physical.colors.${by}`) }),
              })),
              ...MEASURED_NAMES.map((name) => ({
                value: `m:${name}`,
                label: t('physical.colorOf', { what: t('nodes.measuredBy', { name: t(`nodes.${name}`) }) }),
              })),
              ...resources.map((name) => ({
                value: `r:${name}`,
                label: t('physical.colorOf', { what: t('physical.reservedOf', { name }) }),
              })),
              ...(data?.annotations ?? []).map((name) => ({
                value: `a:${name}`,
                label: t('physical.colorOf', { what: t('physical.annotation', { name }) }),
              })),
            ]}
          />
          <Choice
            name="order"
            value={settings.order === 'used' ? 'used' : 'name'}
            fallback="name"
            onChange={(value) => set({ order: value })}
            options={(['name', 'used'] as const).map((value) => ({
              value,
              label: t(`physical.orders.${value}`),
            }))}
          />
          <Choice
            name="span"
            value={span ?? (showsArrows ? 'all' : 'off')}
            fallback="all"
            onChange={(value) => set({ span: value })}
            options={[
              { value: 'all', label: t('physical.spanAll') },
              ...SPANS.map((value) => ({ value, label: t(`physical.spans.${value}`) })),
              { value: 'off', label: t('physical.spanOff') },
            ]}
          />
          <FindBox
            view="physical"
            label={t('physical.find')}
            foundWidth={44}
            found={
              found === null ? null : (
                <span className="rs-num rs-dim" data-testid="physical-found">
                  {count(found.nodes.size + found.workers.size)}
                </span>
              )
            }
          />
        </div>
      </div>
      {query.error !== null && data === undefined ? (
        <ErrorPanel error={query.error} onRetry={() => void query.refetch()} />
      ) : isEmpty ? (
        <div className="rs-view-body rs-stack-body">
          <EmptyState icon={<IconServer2 size={26} />} title={t('physical.empty')}>
            {t(activity.data?.begin_ns == null ? 'table.emptyLive' : 'physical.emptyText')}
          </EmptyState>
        </div>
      ) : (
        data !== undefined &&
        content !== null && (
          <div
            className={`rs-view-body rs-stack-body ${shared.body}`}
            data-outdated={query.isPlaceholderData || undefined}
          >
            <div className="rs-view-main rs-stack-left">
              <LeftOut data={data} />
              <PhysicalCanvas
                content={content}
                picture={picture}
                escapes={url.task === undefined}
                onSelect={select}
              />
            </div>
            <aside
              className="rs-phys-right"
              aria-label={t('common.details')}
              onKeyDown={(event) => {
                // The task's panel, if it is open, closes first.
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

function LeftOut({ data }: { data: Physical }) {
  const { t } = useTranslation();
  const nodes = data.nodes_total - data.nodes.length;
  const bundles = data.bundles_total - data.bundles.length;
  if (nodes <= 0 && data.workers_left_out <= 0 && bundles <= 0) return null;
  return (
    <div className="rs-stack-note rs-dim" data-testid="physical-left-out">
      {nodes > 0 && t('physical.nodesLeftOut', { n: count(nodes) })}{' '}
      {data.workers_left_out > 0 && t('physical.workersLeftOut', { n: count(data.workers_left_out) })}{' '}
      {bundles > 0 && t('physical.bundlesLeftOut', { n: count(bundles) })}
    </div>
  );
}

/** One of a few ways to show; the usual one is not in the URL. */
function Choice(props: {
  name: 'size' | 'color' | 'order' | 'span';
  value: string;
  fallback: string;
  options: { value: string; label: string }[];
  onChange: (value: string | undefined) => void;
}) {
  const { t } = useTranslation();
  const { options, value } = props;
  // What the URL names stays to be seen, though there is none of it at this time.
  const data = options.some((one) => one.value === value)
    ? options
    : [...options, { value, label: value.replace(/^[amr]:/, '') }];
  return (
    <Select
      size="xs"
      className={css.choice}
      aria-label={t(`physical.choice.${props.name}`)}
      data={data}
      value={value}
      allowDeselect={false}
      onChange={(chosen) => props.onChange(chosen === props.fallback || chosen === null ? undefined : chosen)}
      comboboxProps={{ width: 230, position: 'bottom-end' }}
      data-testid={`physical-${props.name}`}
    />
  );
}
