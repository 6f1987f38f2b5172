/** The React components of the logical graph's nodes and edges. */

import { ActionIcon, Tooltip } from '@mantine/core';
import { IconFold, IconPlus } from '@tabler/icons-react';
import {
  type Edge,
  EdgeLabelRenderer,
  type EdgeProps,
  Handle,
  type Node,
  type NodeProps,
  Position,
} from '@xyflow/react';
import { createContext, memo, useContext, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { PausedTask } from '../../api/schema';
import { bytes, count, duration, percent } from '../../base/format';
import { FindingBadge } from '../../ui/insights/FindingBadge';
import { OriginTag } from '../../ui/insights/OriginTag';
import type { Findings } from '../../ui/insights/useFindings';
import { useJobName } from '../../ui/JobName';
import { PausedMark } from '../../ui/PausedMark';
import { StackedBar } from '../../ui/StackedBar';
import words from '../../ui/theme/words.module.css';
import css from './LogicalNodes.module.css';
import type { EdgeShape } from './logicalEdgeShape';
import type { Point } from './logicalLayout';
import { type LogicalNode, unfoldsBy, type Weight } from './logicalModel';
import { nodeName } from './logicalNames';

interface NodeData extends Record<string, unknown> {
  node: LogicalNode;
  weight: Weight;
  /** By the weight; null if it is unknown or no number. `most` is the value of a full bar. */
  value: number | null;
  most: number;
  isFound: boolean;
  isDim: boolean;
}

interface EdgeData extends Record<string, unknown> {
  kind: 'call' | 'data';
  shape: EdgeShape;
  stroke: number;
  label: string;
  /**
   * Position of the label. If it is undefined, the label is shown only while the edge is hovered, at its
   * first possible position.
   */
  labelAt: Point | undefined;
  title: string;
  isHot: boolean;
  isDim: boolean;
}

export type Box = Node<NodeData>;
export type Line = Edge<EdgeData>;

/** Findings of the job, by function and class. */
export const FindingsContext = createContext<Findings | null>(null);

/** How a node or an edge differs between two runs, with the texts to show instead of its figures. */
export interface Change {
  kind: 'came' | 'went' | 'grew' | 'shrank' | 'same';
  /** `New`, `Gone`, or by how much it changed. */
  tag: string;
  attempts: string;
  time: string;
}

/** The changes of nodes and edges by their IDs, if the graph compares two runs. */
export const ChangesContext = createContext<ReadonlyMap<string, Change> | null>(null);

/** The paused tasks of each node, by its ID. */
export const PausedContext = createContext<ReadonlyMap<string, readonly PausedTask[]>>(new Map());

/**
 * Unfolds (`expand`) or folds (`fold`) a class or function, or switches a library between the two (`unfold`).
 */
export type OnUnfold = (setting: 'expand' | 'fold' | 'unfold', name: string) => void;

export const Unfold = createContext<OnUnfold>(() => {});

export const nodeTypes = { leaf: memo(Leaf), box: memo(BoxNode) };
export const edgeTypes = { logical: memo(LogicalEdge) };

function LogicalEdge({ id, data }: EdgeProps<Line>) {
  const [isHovered, setHovered] = useState(false);
  const change = useContext(ChangesContext)?.get(id);
  if (data === undefined) return null;
  const { path, arrow, labels } = data.shape;
  const label = data.labelAt ?? (isHovered ? labels[0] : undefined);
  return (
    <>
      <g
        className={css.edge}
        data-kind={data.kind}
        data-hot={data.isHot || undefined}
        data-change={change?.kind}
        data-dim={(data.isDim && !isHovered) || undefined}
        onPointerEnter={() => setHovered(true)}
        onPointerLeave={() => setHovered(false)}
      >
        <title>{data.title}</title>
        <path d={path} className={css.line} style={{ strokeWidth: data.stroke }} />
        <path d={path} className={css.reach} />
        <path d={arrow} className={css.head} />
      </g>
      {label && (
        <EdgeLabelRenderer>
          <span
            className={css.label}
            data-testid="logical-label"
            data-kind={data.kind}
            data-hot={data.isHot || undefined}
            data-dim={data.isDim || undefined}
            style={{ transform: `translate(-50%, -50%) translate(${label.x}px, ${label.y}px)` }}
          >
            {data.label}
          </span>
        </EdgeLabelRenderer>
      )}
    </>
  );
}

function Ends() {
  return (
    <>
      <Handle type="target" position={Position.Left} isConnectable={false} />
      <Handle type="source" position={Position.Right} isConnectable={false} />
    </>
  );
}

function Leaf({ data, selected }: NodeProps<Box>) {
  const { node, weight, value, most } = data;
  const share = value !== null && most > 0 ? value / most : 0;
  const { t } = useTranslation();
  const name = nodeName(t, node);
  const jobName = useJobName();
  const change = useContext(ChangesContext)?.get(node.id);
  // When zoomed out, only the last part of a function's name fits.
  const prefix = node.kind === 'function' ? name.slice(0, name.lastIndexOf('.') + 1) : '';
  const hasNumbers = node.attempts > 0;
  return (
    <div
      className={css.node}
      data-kind={node.kind}
      data-selected={selected || undefined}
      data-found={data.isFound || undefined}
      data-dim={data.isDim || undefined}
      data-context={!hasNumbers || undefined}
      data-library={node.library ?? undefined}
      data-change={change?.kind}
      data-weight={weight}
      style={{ '--rs-share': `${100 * share}%` } as React.CSSProperties}
      data-testid={`logical-node-${node.id}`}
      title={nodeName(t, node, true)}
    >
      <Ends />
      <span className={css.title}>
        <Name prefix={prefix} name={name.slice(prefix.length)} />
        <NodeMarks node={node} />
        {change && <ChangeTag change={change} />}
        <UnfoldButton node={node} size={18} />
      </span>
      {change && hasNumbers ? (
        <ChangedFigures change={change} />
      ) : hasNumbers ? (
        <>
          <span className={`${css.figures} ${words.num}`}>
            <span>{count(node.attempts)}×</span>
            {node.failed > 0 && (
              <span className={css.failed}>{t('logical.failedOf', { n: count(node.failed) })}</span>
            )}
            <span className={css.time}>
              {weight === 'state'
                ? duration(node.duration_ns || null)
                : value === null
                  ? '–'
                  : weight === 'critical_path'
                    ? `${percent(value)}%`
                    : weight === 'bytes'
                      ? bytes(value)
                      : duration(value)}
            </span>
          </span>
          {weight === 'state' ? (
            <StackedBar states={node.states} height={5} />
          ) : (
            <span className={css.track}>
              <span data-weight={weight} style={{ width: `${100 * share}%` }} />
            </span>
          )}
        </>
      ) : (
        <span className={css.figures}>
          <span className={words.ellipsis}>
            {node.kind === 'driver' && node.job_id !== null
              ? `${node.name === null ? '' : `${t('logical.driver')} · `}${jobName(node.job_id)}`
              : t(`logical.kind.${node.kind}`)}
          </span>
        </span>
      )}
    </div>
  );
}

const ChangeTag = ({ change }: { change: Change }) => (
  <span className={`${css.change} ${words.num}`}>{change.tag}</span>
);

const ChangedFigures = ({ change }: { change: Change }) => (
  <span className={`${css.figures} ${css.changed} ${words.num}`}>
    <span>{change.attempts}</span>
    <span>{change.time}</span>
  </span>
);

/** Number of letters at the end of a name that stay visible. */
const TAIL = 6;
/** The settings at the end of an operator's name, such as `(num_partitions=1)`, which are in the tooltip. */
const SETTINGS = /^(Data: \w+)\(\w+=.*\)$/;

/** The name of a node. It is cut before its end, because the names of siblings often differ there. */
function Name({ name, prefix = '' }: { name: string; prefix?: string }) {
  const shown = [...name.replace(SETTINGS, '$1')];
  const cut = shown.length > 2 * TAIL ? shown.length - TAIL : shown.length;
  return (
    <span className={`${css.name} ${css.parts}`}>
      <span className={words.ellipsis}>
        {prefix !== '' && <span className={css.prefix}>{prefix}</span>}
        {shown.slice(0, cut).join('')}
      </span>
      <span className={css.tail}>{shown.slice(cut).join('')}</span>
    </span>
  );
}

/** The marks of a node: of its paused tasks, and of the finding about a function, a class or the driver. */
function NodeMarks({ node }: { node: LogicalNode }) {
  const findings = useContext(FindingsContext);
  const paused = useContext(PausedContext).get(node.id) ?? [];
  const { kind, name } = node;
  const isNamed = kind === 'function' || kind === 'class' || kind === 'method';
  const finding =
    kind === 'driver' ? findings?.driver : isNamed ? findings?.of(name, node.actor_id) : undefined;
  return (
    <span className={css.marks}>
      <PausedMark tasks={paused}>{count(paused.length)}</PausedMark>
      <FindingBadge finding={finding} job={findings?.job ?? ''} />
    </span>
  );
}

/** A button that unfolds or folds a class, a function or a library. */
function UnfoldButton({ node, size }: { node: LogicalNode; size: number }) {
  const { t } = useTranslation();
  const unfold = useContext(Unfold);
  const isCompared = useContext(ChangesContext) !== null;
  const name = unfoldsBy(node);
  if (name === null || isCompared) return null;
  const isLibrary = node.kind === 'library';
  const action = node.is_expanded ? 'fold' : node.kind === 'class' ? 'unfold' : 'unfoldCalls';
  const label = isLibrary ? t('origin.unfold', { library: name }) : t(`logical.${action}`, { name });
  return (
    <Tooltip label={label}>
      <ActionIcon
        size={size}
        className="nodrag nopan"
        aria-label={label}
        aria-expanded={node.is_expanded}
        data-testid={`logical-unfold-${name}`}
        onClick={(event) => {
          event.stopPropagation();
          unfold(isLibrary ? 'unfold' : node.is_expanded ? 'fold' : 'expand', name);
        }}
        onKeyDown={(event) => event.stopPropagation()}
      >
        {node.is_expanded ? <IconFold size={15} /> : <IconPlus size={15} />}
      </ActionIcon>
    </Tooltip>
  );
}

function BoxNode({ data, selected }: NodeProps<Box>) {
  const { node } = data;
  const change = useContext(ChangesContext)?.get(node.id);
  const { t } = useTranslation();
  return (
    <div
      className={css.box}
      data-box
      data-change={change?.kind}
      data-kind={node.kind}
      data-selected={selected || undefined}
      data-found={data.isFound || undefined}
      data-testid={`logical-node-${node.id}`}
      title={node.actor_id ?? nodeName(t, node)}
    >
      <Ends />
      <div className={css.headRow}>
        <div className={css.headText} data-testid="logical-title">
          <Name name={nodeName(t, node)} />
          {change ? (
            <ChangedFigures change={change} />
          ) : (
            <span className={`${css.figures} ${words.num}`}>
              <span>{count(node.attempts)}×</span>
              {node.kind === 'class' && (
                <span>
                  {node.actors === 1
                    ? t('logical.oneInstance')
                    : t('logical.instances', { n: count(node.actors) })}
                </span>
              )}
              <span className={css.time}>{duration(node.duration_ns || null)}</span>
            </span>
          )}
        </div>
        <NodeMarks node={node} />
        {change && <ChangeTag change={change} />}
        {node.kind === 'class' && (
          <span className={css.origin}>
            <OriginTag origin={node.library} />
          </span>
        )}
        <UnfoldButton node={node} size={24} />
      </div>
    </div>
  );
}
