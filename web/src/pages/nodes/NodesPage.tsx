import { Group, SegmentedControl, Select } from '@mantine/core';
import { useCallback } from 'react';
import { useTranslation } from 'react-i18next';
import { MODES, type Mode, type NodeRow } from '../../api/nodes';
import { useSessionInterval } from '../../api/queries';
import { useLiveList } from '../../api/useLiveList';
import { withFilter, withSettings } from '../../base/url';
import { SearchField } from '../../ui/SearchField';
import { LiveTable, useSort } from '../../ui/table/LiveTable';
import { TableCount } from '../../ui/table/TableCount';
import { TableMenu, useColumnChoice } from '../../ui/table/TableMenu';
import layout from '../../ui/theme/layout.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import { ClusterResources } from './ClusterResources';
import { MachineView } from './MachineView';
import { NodeCards } from './NodeCards';
import { NodePanel } from './NodePanel';
import { NoNodes } from './NoNodes';
import { useNodeColumns } from './nodeColumns';

const nodeKey = (node: NodeRow) => node.node_id;

/** Nodes as a table, as cards or as cells, and the cluster's resources. */
export default function NodesPage() {
  const [url, change] = useSessionUrl();
  const { t } = useTranslation();
  const interval = useSessionInterval(url.session);
  const mode: Mode = MODES.find((one) => one === url.settings?.mode) ?? 'table';
  const hasList = mode === 'table' || mode === 'cards';
  const [sort, onSort] = useSort('-start_ns');
  const { state, q, node_id, since_ns, until_ns } = url.filters;
  const params = { session: url.session, state, q, node_id, since_ns, until_ns, sort };
  const list = useLiveList('/nodes', params, nodeKey, interval);
  const columns = useNodeColumns(list.rows.some((node) => (node.usage?.gpus ?? 0) > 0));
  const choice = useColumnChoice('nodes', columns, list.rows);
  const open = useCallback(
    (id: string, how?: { follow: boolean }) =>
      change((before) => ({ ...before, item: id }), { replace: how?.follow === true }),
    [change],
  );
  const openRow = useCallback((node: NodeRow, how?: { follow: boolean }) => open(node.node_id, how), [open]);
  const close = useCallback(
    () =>
      change((before) => withSettings({ ...before, item: undefined, wide: undefined }, { tab: undefined })),
    [change],
  );
  return (
    <>
      <div className={layout.bar}>
        <SegmentedControl
          size="xs"
          aria-label={t('nodes.modes.label')}
          data={MODES.map((value) => ({ value, label: t(`nodes.modes.${value}`) }))}
          value={mode}
          onChange={(value) =>
            change((before) => withSettings(before, { mode: value === 'table' ? undefined : value }))
          }
          data-testid="nodes-mode"
        />
        {hasList && (
          <>
            <SearchField filter="q" placeholder={t('filter.nameOrId')} />
            <Select
              size="xs"
              w={130}
              aria-label={t('nodes.state')}
              value={state ?? ''}
              allowDeselect={false}
              data={[
                { value: '', label: t('nodes.all') },
                { value: 'ALIVE', label: t('nodes.alive') },
                { value: 'DEAD', label: t('nodes.dead') },
              ]}
              onChange={(value) => change((before) => withFilter(before, 'state', value || undefined))}
              data-testid="nodes-state"
            />
          </>
        )}
        <Group gap={8} justify="flex-end" ml="auto">
          {hasList && <TableCount list={list} />}
          {mode === 'table' && <TableMenu name="nodes" columns={columns} choice={choice} list={list} />}
        </Group>
      </div>
      {mode === 'table' ? (
        <LiveTable
          list={list}
          choice={choice}
          testId="nodes-table"
          rowTestId="nodes-row"
          label={t('nav.nodes')}
          columns={columns}
          keyOf={nodeKey}
          sort={sort}
          onSort={onSort}
          openKey={url.item}
          onOpen={openRow}
          empty={<NoNodes />}
        />
      ) : mode === 'cards' ? (
        <NodeCards list={list} openKey={url.item} onOpen={openRow} />
      ) : mode === 'machine' ? (
        <MachineView openKey={url.item} onOpen={open} />
      ) : (
        <ClusterResources />
      )}
      {url.item !== undefined && <NodePanel id={url.item} onClose={close} />}
    </>
  );
}
