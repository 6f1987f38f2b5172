import { IconTarget } from '@tabler/icons-react';
import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import type { PausedTask, StackBlockedOn } from '../../api/schema';
import { count, duration, nanosBetween } from '../../base/format';
import { PHASE_STATES } from '../../base/scheduling';
import { stateColor } from '../../base/tokens';
import { Dot } from '../../ui/Dot';
import { PausedMark } from '../../ui/PausedMark';
import layout from '../../ui/theme/layout.module.css';
import words from '../../ui/theme/words.module.css';
import { useKeys } from '../../ui/useKeys';
import { useSelectedFunction } from '../shared/useSelectedFunction';
import { FrameLine } from './FrameLine';
import type { Row } from './frames';
import css from './StackTree.module.css';
import type { Situation } from './stack';
import shared from './stack.module.css';
import { Marked, Toggle } from './TreeParts';

const ROW = 30;
/** Maximum depth of indentation, in levels. */
const DEEPEST_INDENT = 24;
const INDENT = 16;

export function situationColor(situation: Situation): string {
  if (situation === 'running') return stateColor(PHASE_STATES.executing);
  if (situation === 'ended' || situation === 'unknown') return 'var(--rs-tone-quiet)';
  return stateColor(PHASE_STATES[situation]);
}

export function SituationBadge({ situation }: { situation: Situation }) {
  const { t } = useTranslation();
  return (
    <span className={`${words.state} ${shared.badge}`} title={t(`stack.hint.${situation}`)}>
      <Dot color={situationColor(situation)} />
      {t(`stack.situation.${situation}`)}
    </span>
  );
}

/** The label of a node. Drivers and unnamed nodes get a translated one. */
export function useNodeName(): (node: { name: string; type: string | null; situation: Situation }) => string {
  const { t } = useTranslation();
  return (node) => {
    if (node.situation === 'unknown') return t('stack.unknownParent');
    if (node.type === 'DRIVER_TASK')
      return node.name === 'driver' ? t('stack.driver') : t('stack.driverOf', { script: node.name });
    return node.name === '' ? t('common.unknown') : node.name;
  };
}

/** Formats the targets of an attempt's waits: `leaf ×6, twig`. */
function useWaitsFor(): (on: readonly StackBlockedOn[]) => string {
  const nameOf = useNodeName();
  return (on) => {
    const byName = new Map<string, number>();
    for (const each of on) byName.set(nameOf(each), (byName.get(nameOf(each)) ?? 0) + each.count);
    return [...byName].map(([name, pairs]) => (pairs > 1 ? `${name} ×${count(pairs)}` : name)).join(', ');
  };
}

/** The indented tree, with the usual keys: up and down move, and left and right close and open a node. */
export function StackTree(props: {
  rows: Row[];
  /** The paused tasks of each node, by its ID. */
  paused: ReadonlyMap<string, readonly PausedTask[]>;
  at: number | null;
  search: string;
  selected: string | undefined;
  onSelect: (id: string) => void;
  onOpen: (id: string, open: boolean) => void;
}) {
  const { rows, selected, onSelect, onOpen } = props;
  const ofTask = useSelectedFunction();
  const { t } = useTranslation();
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW,
    overscan: 12,
    paddingStart: 4,
    paddingEnd: 4,
    getItemKey: (at) => rows[at]?.id ?? at,
  });
  const current = rows.findIndex((row) => row.id === selected);
  // Scroll to a node selected elsewhere (in a chain or by a link), but not when a refresh moves nodes.
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs only when another node is selected.
  useEffect(() => {
    if (current >= 0) virtual.scrollToIndex(current, { align: 'auto' });
  }, [selected]);

  const select = (at: number) => {
    const row = rows[Math.min(Math.max(at, 0), rows.length - 1)];
    if (row !== undefined) onSelect(row.id);
  };
  const row = rows[current];
  const unfold = () => {
    if (row?.parent && !row.open) onOpen(row.id, true);
    else if (row?.parent) select(current + 1);
  };
  const fold = () => {
    if (row?.parent && row.open) onOpen(row.id, false);
    else if (row && row.above !== null) onSelect(row.above);
  };
  useKeys(
    t('nav.stack'),
    [
      { keys: ['ArrowDown'], label: t('keys.nextRow'), run: () => select(current + 1) },
      { keys: ['ArrowUp'], label: t('keys.previousRow'), run: () => select(current < 0 ? 0 : current - 1) },
      { keys: ['ArrowRight'], label: t('keys.unfold'), run: unfold },
      { keys: ['ArrowLeft'], label: t('keys.fold'), run: fold },
      { keys: ['Home'], label: t('keys.first'), run: () => select(0) },
      { keys: ['End'], label: t('keys.last'), run: () => select(rows.length - 1) },
    ],
    scroller,
  );
  return (
    <div
      ref={scroller}
      className={`${layout.scroll} ${css.tree}`}
      role="tree"
      aria-label={t('stack.tree')}
      aria-activedescendant={current >= 0 ? `stack-${selected}` : undefined}
      tabIndex={0}
      data-picture
      data-testid="stack-tree"
    >
      <div style={{ height: virtual.getTotalSize(), position: 'relative' }} role="presentation">
        {virtual.getVirtualItems().map((item) => {
          const row = rows[item.index];
          if (row === undefined) return null;
          const common = {
            row,
            top: item.start,
            height: ROW,
            padding: 8 + Math.min(row.indent, DEEPEST_INDENT) * INDENT,
            search: props.search,
            selected: row.id === selected,
            onSelect,
            onOpen,
          };
          return row.frame === undefined ? (
            <TreeLine
              key={item.key}
              {...common}
              paused={props.paused.get(row.node.id) ?? []}
              at={props.at}
              ofTask={ofTask}
            />
          ) : (
            <FrameLine key={item.key} {...common} frame={row.frame} />
          );
        })}
      </div>
    </div>
  );
}

function TreeLine(props: {
  row: Row;
  paused: readonly PausedTask[];
  top: number;
  height: number;
  padding: number;
  at: number | null;
  /** The function of the task in the panel. */
  ofTask: string | null;
  search: string;
  selected: boolean;
  onSelect: (id: string) => void;
  onOpen: (id: string, open: boolean) => void;
}) {
  const { t } = useTranslation();
  const nameOf = useNodeName();
  const waitsFor = useWaitsFor();
  const { node, parent, open, match } = props.row;
  const name = nameOf(node);
  const age = node.oldest_ns === null || props.at === null ? null : nanosBetween(node.oldest_ns, props.at);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the tree has the keys.
    // biome-ignore lint/a11y/useFocusableInteractive: the tree has the focus (aria-activedescendant).
    <div
      id={`stack-${node.id}`}
      className={`${shared.line} ${css.row}`}
      role="treeitem"
      aria-level={props.row.level}
      aria-expanded={parent ? open : undefined}
      aria-selected={props.selected}
      data-gone={node.count === 0 || undefined}
      data-deepest={node.deepest > 0 || undefined}
      data-testid="stack-node"
      data-name={node.name}
      data-situation={node.situation}
      data-of-task={(props.ofTask !== null && node.name === props.ofTask) || undefined}
      style={{ top: props.top, height: props.height, paddingLeft: props.padding }}
      onClick={() => props.onSelect(node.id)}
    >
      <span className={css.call}>
        <Toggle parent={parent} open={open} onOpen={(now) => props.onOpen(node.id, now)} />
        <span className={`${shared.name} ${words.ellipsis} ${words.name}`} title={name}>
          <Marked name={name} match={match} search={props.search} />
        </span>
        {node.count > 1 && <b className={words.num}>×{count(node.count)}</b>}
        <PausedMark tasks={props.paused} />
      </span>
      <span className={css.situation}>
        {node.situation !== 'unknown' && <SituationBadge situation={node.situation} />}
      </span>
      <span className={`${words.num} ${words.dim} ${css.age}`} title={t('stack.sinceOldest')}>
        {age !== null && node.situation !== 'ended' && duration(Math.max(0, age))}
      </span>
      <span className={css.rest}>
        {node.blocked_on.length > 0 && (
          <span className={`${words.dim} ${words.ellipsis} ${css.on}`} title={waitsFor(node.blocked_on)}>
            {t('stack.waitsFor', { names: waitsFor(node.blocked_on) })}
          </span>
        )}
        {node.deepest > 0 && (
          <span className={css.mark} title={t('stack.deepestHint')}>
            <IconTarget size={13} aria-hidden />
            <span className={words.ellipsis}>{t('stack.deepest')}</span>
          </span>
        )}
        {node.folded_nodes > 0 && (
          <span className={`${words.dim} ${words.num}`} title={t('stack.foldedHint')}>
            {t('stack.folded', { nodes: count(node.folded_nodes), n: count(node.folded_count) })}
          </span>
        )}
      </span>
    </div>
  );
}
