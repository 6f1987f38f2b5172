import '@xyflow/react/dist/base.css';
import { ActionIcon, Tooltip } from '@mantine/core';
import { IconLayoutDistributeHorizontal, IconMaximize, IconMinus, IconPlus } from '@tabler/icons-react';
import {
  getViewportForBounds,
  type NodeChange,
  Panel,
  ReactFlow,
  ReactFlowProvider,
  useReactFlow,
  useStore,
  useStoreApi,
} from '@xyflow/react';
import { useContext, useEffect, useMemo, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import type { CriticalPathAnswer } from '../../api/schema';
import { count, duration } from '../../base/format';
import { useFindings } from '../../ui/insights/useFindings';
import { NOT_IN_PICTURE } from '../../ui/picture/picture';
import { useSessionUrl } from '../../ui/useUrl';
import { useSelectedFunction } from '../shared/useSelectedFunction';
import css from './LogicalCanvas.module.css';
import {
  type Box,
  type Change,
  ChangesContext,
  edgeTypes,
  FindingsContext,
  type Line,
  nodeTypes,
  type OnUnfold,
  PausedContext,
  Unfold,
} from './LogicalNodes';
import { toEdges } from './logicalEdges';
import { type Focus, focusOf } from './logicalFocus';
import { depthOf, type Layout } from './logicalLayout';
import {
  isBox,
  type LogicalAnswer,
  type LogicalNode,
  matches,
  type Shown,
  type Weight,
  weighed,
} from './logicalModel';
import { nodeName } from './logicalNames';
import { usePausedNodes } from './usePausedNodes';

/** Below the first zoom, nodes have no room for bars. Below the second, they have room only for their names. */
const WITH_BARS = 0.64;
const WITH_FIGURES = 0.38;
const FIT = { padding: 0.08, maxZoom: 1 };

interface CanvasProps {
  graph: LogicalAnswer;
  layout: Layout;
  /** Identifies the requested graph. When it changes, the new graph is fitted into the view. */
  question: string;
  weight: Weight;
  path?: CriticalPathAnswer;
  shown: Shown;
  find: string;
  selected: string | undefined;
  onSelect: (id: string | undefined) => void;
  onUnfold: OnUnfold;
  onArrange: () => void;
}

/** The graph of two runs. Findings and paused tasks belong to one run, so it has none. */
export function ComparedCanvas({
  changes,
  ...props
}: CanvasProps & { changes: ReadonlyMap<string, Change> }) {
  return (
    <ReactFlowProvider>
      <ChangesContext.Provider value={changes}>
        <Canvas {...props} />
      </ChangesContext.Provider>
    </ReactFlowProvider>
  );
}

export function LogicalCanvas(props: CanvasProps) {
  const [url] = useSessionUrl();
  const findings = useFindings(url.session, url.filters.job_id, true);
  const paused = usePausedNodes(props.graph);
  return (
    <ReactFlowProvider>
      <Unfold.Provider value={props.onUnfold}>
        <FindingsContext.Provider value={findings}>
          <PausedContext.Provider value={paused}>
            <Canvas {...props} />
          </PausedContext.Provider>
        </FindingsContext.Provider>
      </Unfold.Provider>
    </ReactFlowProvider>
  );
}

function Canvas(props: CanvasProps) {
  const { graph, layout, selected } = props;
  const { t, i18n } = useTranslation();
  const flow = useReactFlow();
  const found = useMemo(() => {
    if (props.find.trim() === '') return null;
    return new Set(graph.nodes.filter((node) => matches(node, props.find)).map((node) => node.id));
  }, [graph, props.find]);
  const focus = useMemo(() => focusOf(graph, found, selected), [graph, found, selected]);
  const nodes = useNodes(props, found, focus);
  const fitted = useRef(props.question);
  const isMoved = useRef(false);
  const changes = useContext(ChangesContext);
  useEffect(() => {
    if (fitted.current === props.question) return;
    fitted.current = props.question;
    isMoved.current = false;
    void flow.fitView(FIT);
  }, [props.question, flow]);
  // Opening a panel shrinks the view. Fit the graph again, unless the user has moved or zoomed it.
  const store = useStoreApi();
  const width = useStore((state) => state.width);
  const zoom = useStore(({ transform }) => Math.round(transform[2] * 20) / 20);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the texts change with the language alone.
  const edges = useMemo(() => {
    const name = (id: string) => nameOf(graph, id, (node) => nodeName(t, node, true));
    return toEdges(graph, layout, props.shown, focus, zoom, name, changes);
  }, [graph, layout, props.shown, focus, zoom, changes, i18n.language]);
  useEffect(() => {
    const { height } = store.getState();
    if (isMoved.current || width === 0 || height === 0) return;
    const bounds = flow.getNodesBounds(flow.getNodes());
    void flow.setViewport(getViewportForBounds(bounds, width, height, 0.05, FIT.maxZoom, FIT.padding));
  }, [width, flow, store]);
  function onNodesChange(changes: NodeChange<Box>[]): void {
    const on = changes.find((change) => change.type === 'select' && change.selected);
    if (on?.type === 'select') props.onSelect(on.id);
    else if (changes.some((change) => change.type === 'select' && change.id === selected))
      props.onSelect(undefined);
  }
  return (
    <ReactFlow<Box, Line>
      data-picture
      data-far={zoom < WITH_FIGURES ? 'names' : zoom < WITH_BARS ? 'short' : undefined}
      style={{ '--rs-unzoom': Math.max(1, 1 / zoom) } as React.CSSProperties}
      nodes={nodes}
      edges={edges}
      nodeTypes={nodeTypes}
      edgeTypes={edgeTypes}
      onNodesChange={onNodesChange}
      onPaneClick={() => props.onSelect(undefined)}
      onMove={(event) => {
        if (event !== null) isMoved.current = true;
      }}
      nodesDraggable={false}
      nodesConnectable={false}
      edgesFocusable={false}
      elementsSelectable
      deleteKeyCode={null}
      selectionKeyCode={null}
      multiSelectionKeyCode={null}
      fitView
      fitViewOptions={FIT}
      zIndexMode="manual"
      minZoom={0.05}
      maxZoom={2}
      // The page of a comparison is longer than the screen, so there the wheel scrolls.
      zoomOnScroll={changes === null}
      preventScrolling={changes === null}
      proOptions={{ hideAttribution: true }}
      aria-label={t('logical.graph')}
      data-testid="logical-canvas"
    >
      <Panel {...NOT_IN_PICTURE} position="bottom-left" className={css.controls}>
        <Control label={t('logical.zoomIn')} onClick={() => void flow.zoomIn()}>
          <IconPlus size={16} />
        </Control>
        <Control label={t('logical.zoomOut')} onClick={() => void flow.zoomOut()}>
          <IconMinus size={16} />
        </Control>
        <Control label={t('logical.fit')} onClick={() => void flow.fitView(FIT)}>
          <IconMaximize size={16} />
        </Control>
        <Control label={t('logical.arrange')} onClick={props.onArrange}>
          <IconLayoutDistributeHorizontal size={16} />
        </Control>
      </Panel>
    </ReactFlow>
  );
}

function Control(props: { label: string; onClick: () => void; children: React.ReactNode }) {
  return (
    <Tooltip label={props.label} position="right">
      <ActionIcon size={28} aria-label={props.label} onClick={props.onClick}>
        {props.children}
      </ActionIcon>
    </Tooltip>
  );
}

function nameOf(graph: LogicalAnswer, id: string, name: (node: LogicalNode) => string): string {
  const node = graph.nodes.find((one) => one.id === id);
  return node === undefined ? id : name(node);
}

function useNodes(
  { graph, layout: { places }, weight, path, selected }: CanvasProps,
  found: Set<string> | null,
  focus: Focus | null,
): Box[] {
  const { t } = useTranslation();
  const ofTask = useSelectedFunction();
  const [{ task }] = useSessionUrl();
  return useMemo(() => {
    const leaves = graph.nodes.filter((node) => !isBox(node));
    const values = weighed(leaves, weight, path);
    // Shares of the path have the same scale in every graph.
    const most = weight === 'critical_path' ? 1 : Math.max(0, ...values.values());
    return graph.nodes.flatMap((node) => {
      const place = places.get(node.id);
      if (place === undefined) return [];
      const above = node.parent === null ? undefined : places.get(node.parent);
      return {
        id: node.id,
        type: isBox(node) ? 'box' : 'leaf',
        position: { x: place.x - (above?.x ?? 0), y: place.y - (above?.y ?? 0) },
        ...(node.parent !== null && { parentId: node.parent }),
        width: place.width,
        height: place.height,
        measured: { width: place.width, height: place.height },
        selected: selected === undefined ? isOfTask(node, task, ofTask) : node.id === selected,
        zIndex: depthOf(node),
        ariaLabel: t('logical.nodeLabel', {
          name: nodeName(t, node, true),
          attempts: count(node.attempts),
          time: duration(node.duration_ns),
        }),
        data: {
          node,
          weight,
          value: values.get(node.id) ?? null,
          most,
          isFound: found?.has(node.id) ?? false,
          isDim: !isBox(node) && focus !== null && !focus.nodes.has(node.id),
        },
      };
    });
  }, [graph, places, weight, path, found, focus, selected, task, ofTask, t]);
}

/** Whether a node is the selected task or its function. */
function isOfTask(node: LogicalNode, task: string | undefined, func: string | null): boolean {
  if (node.kind === 'call') return task !== undefined && node.task_id === task;
  return func !== null && node.name === func && (node.kind === 'function' || !isBox(node));
}
