/** The scene of the physical view: the positions and labels of nodes and workers. */

import type { PhysicalNode, TransferPair } from '../../api/schema';
import { amount } from '../../base/format';
import { type Box, cellAt, type Grid, NONE, slotGrid } from '../../base/grid';
import { type Color, headOf, type Physical, type Slot } from './physical';

/** Maps the grid's coordinates to the canvas's. */
export interface Camera {
  scale: number;
  x: number;
  y: number;
}

export interface Scene {
  data: Physical;
  names: string[];
  slots: Slot[][];
  /** Maximum number of slots on a node. */
  most: number;
  /** Indexes of the nodes in drawing order. */
  order: number[];
  grid: Grid;
  fills: number[];
  /** Whether workers differ in the amount that they hold. */
  sized: boolean;
  color: Color;
  /** The resource whose reserved share nodes show. */
  resource: string;
  found: { nodes: ReadonlySet<number>; workers: ReadonlySet<number> } | null;
  /** Whether filters are set. If so, workers that run nothing that matches are pale. */
  filtered: boolean;
  pairs: TransferPair[];
  node: number;
  worker: number;
  texts: {
    driver: string;
    internal: string;
    head: string;
    idle: string;
    unnamed: string;
    bundle: string;
    blocked: string;
  };
}

export function cellBox(scene: Scene, camera: Camera, place: number): Box {
  const { x, y, width, height } = cellAt(scene.grid, place);
  return {
    x: x * camera.scale + camera.x,
    y: y * camera.scale + camera.y,
    width: width * camera.scale,
    height: height * camera.scale,
  };
}

/** The boxes of the slots in a cell. */
export function slotBoxes(scene: Scene, cell: Box, node: number): Box[] {
  const slots = scene.slots[node] ?? [];
  const head = headOf(cell.width);
  const pad = cell.width < 60 ? 1 : 5;
  const room = {
    x: cell.x + pad,
    y: cell.y + head + pad,
    width: cell.width - 2 * pad,
    height: cell.height - head - 2 * pad,
  };
  // Slots have the same size on all nodes, unless one node has far more of them than the others.
  const shape = slotGrid(Math.max(slots.length, Math.min(scene.most, 4 * Math.max(1, slots.length))), room);
  const gap = Math.min(4, Math.max(0.5, shape.width * 0.08));
  return slots.map((_, at) => ({
    x: room.x + (at % shape.columns) * shape.width + gap / 2,
    y: room.y + Math.floor(at / shape.columns) * shape.height + gap / 2,
    width: shape.width - gap,
    height: shape.height - gap,
  }));
}

/** The reserved and total amounts of a node: `CPU 3/4 · GPU 1/2 · memory 1 GiB/8 GiB`. */
export function usedText(node: PhysicalNode): string {
  const names = Object.keys(node.total ?? node.used).filter((name) => name !== 'object_store_memory');
  const rank = (name: string) => ['CPU', 'GPU', 'memory'].indexOf(name) + 1 || 9;
  return names
    .sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1))
    .filter((name) => name !== 'memory' || (node.used[name] ?? 0) > 0)
    .map((name) => {
      const total = node.total?.[name];
      const used = amount(name, node.used[name] ?? 0);
      return `${name} ${used}${total === undefined ? '' : `/${amount(name, total)}`}`;
    })
    .join(' · ');
}

/** The two parts of a worker's label: the class of its actor and what it runs, or its kind. */
export function labelOf(scene: Scene, worker: number): [string, string] {
  const { workers, classes, functions, kinds } = scene.data;
  const running = workers.running[worker] ?? 0;
  const name = functions[workers.function[worker] ?? NONE];
  const suffix = running > 1 ? ` ×${running}` : '';
  const kind = kinds[workers.kind[worker] ?? NONE];
  const actor = classes[workers.actor_class[worker] ?? NONE];
  const blocked = (workers.blocked[worker] ?? 0) > 0 ? ` · ${scene.texts.blocked}` : '';
  const runs = name === undefined ? '' : `${name || scene.texts.unnamed}${suffix}`;
  if (workers.is_internal[worker]) return [scene.texts.internal, actor ?? runs];
  const job = scene.data.jobs[workers.job[worker] ?? NONE] ?? '';
  if (kind === 'DRIVER') return [scene.texts.driver + blocked, runs || (scene.data.scripts[job] ?? '')];
  const method = actor !== undefined && runs.startsWith(`${actor}.`) ? runs.slice(actor.length) : runs;
  return actor === undefined ? [(runs || scene.texts.idle) + blocked, ''] : [actor, method + blocked];
}
