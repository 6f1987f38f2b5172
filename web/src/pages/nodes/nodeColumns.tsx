import type { TFunction } from 'i18next';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { NodeRow } from '../../api/nodes';
import { count } from '../../base/format';
import { CopyId } from '../../ui/CopyId';
import { Dash } from '../../ui/Dash';
import { ItemState } from '../../ui/ItemState';
import { LaneName } from '../../ui/Lane';
import { Meter, ofText, rateText } from '../../ui/Meter';
import { Time } from '../../ui/Time';
import { type Column, TIME_WIDTH } from '../../ui/table/columns';
import words from '../../ui/theme/words.module.css';
import { oneLine } from '../../ui/Value';
import { NodeName } from './NodeName';

type Usage = NonNullable<NodeRow['usage']>;

/** The columns of the table of nodes. GPU columns are shown by default if a node has a GPU. */
export function useNodeColumns(gpus: boolean): Column<NodeRow>[] {
  const { t } = useTranslation();
  return useMemo(
    () => [...nameColumns(t), ...usageColumns(t, gpus), ...placeColumns(t), ...optionalColumns(t)],
    [t, gpus],
  );
}

function nameColumns(t: TFunction): Column<NodeRow>[] {
  return [
    {
      id: 'state',
      header: t('nodes.state'),
      width: 92,
      sort: 'state',
      cell: (node) => <ItemState state={node.state} />,
    },
    {
      id: 'hostname',
      header: t('nodes.name'),
      width: 170,
      grow: true,
      sort: 'hostname',
      cell: (node) => <NodeName node={node} />,
    },
  ];
}

function usageColumns(t: TFunction, gpus: boolean): Column<NodeRow>[] {
  return [
    meterColumn(
      'cpu_percent',
      t('nodes.cpu'),
      (u) => u.cpu_percent,
      () => undefined,
    ),
    meterColumn(
      'mem_percent',
      t('nodes.memory'),
      (u) => u.mem_percent,
      (u) => ofText(u.mem_used_bytes, u.mem_total_bytes),
    ),
    meterColumn(
      'disk_percent',
      t('nodes.disk'),
      (u) => u.disk_percent,
      (u) => ofText(u.disk_used_bytes, u.disk_total_bytes),
    ),
    meterColumn(
      'gpu_percent',
      t('nodes.gpu'),
      (u) => u.gpu_percent,
      (u) => `${u.gpus ?? 0} GPU`,
      !gpus,
    ),
    meterColumn(
      'gpu_mem_percent',
      t('nodes.gpu_memory'),
      (u) => u.gpu_mem_percent,
      (u) => ofText(u.gpu_mem_used_bytes, u.gpu_mem_total_bytes),
      !gpus,
    ),
    meterColumn(
      'object_store_percent',
      t('nodes.object_store'),
      (u) => u.object_store_percent,
      (u) => ofText(u.object_store_used_bytes, u.object_store_total_bytes),
    ),
    {
      id: 'network',
      value: ({ usage }) => usage && { sent: usage.net_sent_bytes_s, received: usage.net_recv_bytes_s },
      header: t('nodes.network'),
      width: 178,
      sort: 'net_recv_bytes_s',
      align: 'right',
      cell: ({ usage }) =>
        usage === null || usage.net_sent_bytes_s === null ? (
          <Dash />
        ) : (
          <span className={words.num} data-old={!usage.current || undefined}>
            {rateText(usage.net_sent_bytes_s)} <span className={words.dim}>·</span>{' '}
            {rateText(usage.net_recv_bytes_s)}
          </span>
        ),
    },
    {
      id: 'disk_io',
      value: ({ usage }) => usage && { read: usage.disk_read_bytes_s, written: usage.disk_write_bytes_s },
      header: t('nodes.diskIo'),
      width: 178,
      sort: 'disk_write_bytes_s',
      align: 'right',
      optional: true,
      cell: ({ usage }) =>
        usage === null || usage.disk_read_bytes_s === null ? (
          <Dash />
        ) : (
          <span className={words.num}>
            {rateText(usage.disk_read_bytes_s)} <span className={words.dim}>·</span>{' '}
            {rateText(usage.disk_write_bytes_s)}
          </span>
        ),
    },
    {
      id: 'load_1',
      value: ({ usage }) => usage?.load_1,
      header: t('nodes.load'),
      width: 72,
      sort: 'load_1',
      align: 'right',
      optional: true,
      cell: ({ usage }) => (
        <span className={words.num}>{usage?.load_1 == null ? '–' : usage.load_1.toFixed(2)}</span>
      ),
    },
  ];
}

function placeColumns(t: TFunction): Column<NodeRow>[] {
  return [
    {
      id: 'workers',
      header: t('nodes.workers'),
      width: 84,
      sort: 'workers',
      align: 'right',
      cell: (node) => <span className={words.num}>{count(node.workers ?? 0)}</span>,
    },
    {
      id: 'node_ip',
      header: t('nodes.ip'),
      width: 112,
      sort: 'node_ip',
      cell: (node) => node.node_ip ?? <Dash />,
    },
    {
      id: 'node_id',
      header: t('nodes.id'),
      width: 104,
      sort: 'node_id',
      cell: (node) => <CopyId id={node.node_id} />,
    },
    {
      id: 'lane',
      header: t('nodes.lane'),
      width: 124,
      cell: (node) => <LaneName lane={node.lane} code={node.lane_code} reason={node.lane_reason} />,
    },
    {
      id: 'start_ns',
      header: t('nodes.started'),
      width: TIME_WIDTH,
      sort: 'start_ns',
      cell: (node) => <Time ns={node.start_ns} />,
    },
    {
      id: 'end_ns',
      header: t('nodes.ended'),
      width: TIME_WIDTH,
      sort: 'end_ns',
      cell: (node) => (node.end_ns === null ? <Dash /> : <Time ns={node.end_ns} />),
    },
  ];
}

function optionalColumns(t: TFunction): Column<NodeRow>[] {
  return [
    textColumn('death_reason', t('nodes.death'), 200, (node) => node.death_reason),
    textColumn(
      'labels',
      t('nodes.labels'),
      200,
      (node) => (node.labels === '{}' ? null : oneLine(node.labels)),
      false,
    ),
    textColumn('resources_total', t('nodes.resources'), 220, (node) => oneLine(node.resources_total), false),
    textColumn('node_name', t('field.node_name'), 130, (node) => node.node_name),
    textColumn('instance_type', t('field.instance_type'), 120, (node) => node.instance_type),
  ];
}

/** A column that shows a node's usage as a meter. The meter is pale if the value is outdated. */
function meterColumn(
  id: string,
  header: string,
  percent: (usage: Usage) => number | null,
  title: (usage: Usage) => string | undefined,
  optional = false,
): Column<NodeRow> {
  return {
    id,
    header,
    width: 116,
    sort: id,
    value: ({ usage }) => usage && percent(usage),
    optional,
    cell: ({ usage }) =>
      usage === null ? (
        <Dash />
      ) : (
        <Meter percent={percent(usage)} old={!usage.current} title={title(usage)} />
      ),
  };
}

/** A text column that is hidden by default. */
function textColumn(
  id: string,
  header: string,
  width: number,
  of: (node: NodeRow) => string | null,
  sortable = true,
): Column<NodeRow> {
  return {
    id,
    header,
    width,
    sort: sortable ? id : undefined,
    optional: true,
    cell: (node) => {
      const value = of(node);
      return value === null || value === '' ? (
        <Dash />
      ) : (
        <span className={words.ellipsis} title={value}>
          {value}
        </span>
      );
    },
  };
}
