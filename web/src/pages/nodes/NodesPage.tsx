import { SegmentedControl } from '@mantine/core';
import { useCallback } from 'react';
import { useTranslation } from 'react-i18next';
import { MODES, type Mode, type NodeRow } from '../../api/nodes';
import { useSessionInterval } from '../../api/queries';
import { useLiveList } from '../../api/useLiveList';
import { withSettings } from '../../base/url';
import { Toolbar } from '../../ui/Toolbar';
import { LiveTable, useSort } from '../../ui/table/LiveTable';
import { TableCount } from '../../ui/table/TableCount';
import { TableMenu, useColumnChoice } from '../../ui/table/TableMenu';
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
  const states = [
    { value: 'ALIVE', label: t('nodes.alive') },
    { value: 'DEAD', label: t('nodes.dead') },
  ];
  const fields = [{ name: 'state' as const, label: t('nodes.state'), choices: states }];
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
      <Toolbar
        search={hasList ? t('filter.nameOrId') : undefined}
        fields={hasList ? fields : undefined}
        count={hasList && <TableCount list={list} />}
        menu={mode === 'table' && <TableMenu name="nodes" columns={columns} choice={choice} list={list} />}
        options={
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
        }
      />
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
