/** The machine view: the values and the layout of its cells. */

import type { Measure } from '../../api/nodes';
import type { CellsAnswer } from '../../api/schema';
import { type Box, cellAt, type Grid, gridOf, NONE, slotGrid } from '../../base/grid';
import { uniqueNames } from '../../base/nodeTitle';

/** The nodes and workers of the machine view, and the measurement that determines their colours. */
export interface Machine {
  cells: CellsAnswer;
  measure: Measure;
  /**
   * Indexes of the nodes in drawing order. Indexes from `cells.nodes.node_id.length` on stand for dead nodes.
   */
  order: number[];
  /** Indexes of the workers of each live node. */
  workers: number[][];
  /** Maximum number of workers on a node. */
  most: number;
  /** The names of the nodes, then of the dead ones. */
  names: string[];
}

export const MARGIN = 8;
/** Maximum width of a cell, px. */
const MAX_CELL_WIDTH = 340;
/** Minimum width of a cell with a name, px. */
const MIN_NAMED_WIDTH = 74;
/** Minimum width of a cell with a head, px. */
const MIN_HEADED_WIDTH = 26;

export function machineOf(cells: CellsAnswer, measure: Measure, fullestFirst: boolean): Machine {
  const workers: number[][] = cells.nodes.node_id.map(() => []);
  cells.workers.node.forEach((node, at) => {
    workers[node]?.push(at);
  });
  const order = cells.nodes.node_id.map((_, at) => at);
  const values = cells.measured.nodes[measure];
  if (fullestFirst) order.sort((a, b) => (values[b] ?? -1) - (values[a] ?? -1) || a - b);
  cells.dead.forEach((_, at) => {
    order.push(cells.nodes.node_id.length + at);
  });
  return {
    cells,
    measure,
    order,
    workers,
    most: workers.reduce((all, one) => Math.max(all, one.length), 1),
    names: uniqueNames([
      ...cells.nodes.name.map((name, at) => ({ name, node_id: cells.nodes.node_id[at] ?? '' })),
      ...cells.dead.map(({ name, node_id }) => ({ name: name ?? node_id.slice(0, 8), node_id })),
    ]),
  };
}

/** The grid of cells on a canvas. The cells are as large as possible, up to a maximum. */
export function machineGrid(cellCount: number, width: number, height: number): Grid {
  const grid = gridOf(cellCount, Math.max(1, width - 2 * MARGIN), Math.max(1, height - 2 * MARGIN));
  if (grid.width <= MAX_CELL_WIDTH) return grid;
  const columns = Math.max(1, Math.min(cellCount, Math.floor((width - 2 * MARGIN) / MAX_CELL_WIDTH)));
  return {
    ...grid,
    columns,
    rows: Math.ceil(cellCount / columns),
    width: MAX_CELL_WIDTH,
    height: (grid.height / grid.width) * MAX_CELL_WIDTH,
  };
}

/** A node's usage in percent; null if it is unknown or the node is dead. */
export function nodeValue({ cells, measure }: Machine, node: number): number | null {
  const value = cells.measured.nodes[measure][node];
  return value === undefined || value < 0 ? null : value;
}

/**
 * A worker's usage in percent of one core, or of the memory of its node or GPU; null if it is unknown or not
 * measured per worker.
 */
export function workerValue({ cells, measure }: Machine, worker: number): number | null {
  const { measured } = cells;
  const node = cells.workers.node[worker] ?? -1;
  const part = (used: number | undefined, all: number | undefined) =>
    used === undefined || all === undefined || used < 0 || all <= 0 ? null : (100 * used) / all;
  if (measure === 'cpu') return part(measured.cpu[worker], 100);
  if (measure === 'memory') return part(measured.memory[worker], measured.mem_total[node]);
  if (measure === 'gpu_memory') return part(measured.gpu_memory[worker], measured.gpu_mem_total[node]);
  return null;
}

/** Translated texts of the drawing. */
export interface MachineTexts {
  unknown: string;
  dead: string;
  internal: string;
  driver: string;
  worker: string;
}

/**
 * The lines of a worker's label: the class or function that it runs, or its kind. The first line of a process of Ray
 * marks it as internal.
 */
export function workerLabel({ cells }: Machine, worker: number, texts: MachineTexts): string[] {
  const { workers, classes, functions, kinds } = cells;
  const kind = kinds[workers.kind[worker] ?? NONE] === 'DRIVER' ? texts.driver : texts.worker;
  const actor = classes[workers.actor_class[worker] ?? NONE];
  const name = actor ?? (functions[workers.function[worker] ?? NONE] || kind);
  return workers.is_internal[worker] ? [texts.internal, name] : [name];
}

/** Height of the head of a cell, above the workers, px. */
export function headOf(cell: Box): number {
  if (cell.width < MIN_HEADED_WIDTH || cell.height < 16) return 0;
  return cell.width < MIN_NAMED_WIDTH ? 5 : 17;
}

export function cellOf(grid: Grid, place: number): Box {
  const box = cellAt(grid, place);
  return { ...box, x: box.x + MARGIN, y: box.y + MARGIN };
}

/** The boxes of a node's workers inside its cell. */
export function workerBoxes(machine: Machine, cell: Box, node: number): Box[] {
  const workerCount = machine.workers[node]?.length ?? 0;
  if (workerCount === 0) return [];
  const head = headOf(cell);
  const pad = cell.width < 40 ? 1.5 : 4;
  const room = {
    x: cell.x + pad,
    y: cell.y + head + pad,
    width: cell.width - 2 * pad,
    height: cell.height - head - 2 * pad,
  };
  const shape = slotGrid(Math.max(workerCount, Math.min(machine.most, 4 * workerCount)), room);
  const gap = shape.width < 5 ? 0.5 : Math.min(3, shape.width * 0.12);
  return Array.from({ length: workerCount }, (_, at) => ({
    x: room.x + (at % shape.columns) * shape.width,
    y: room.y + Math.floor(at / shape.columns) * shape.height,
    width: Math.max(1, shape.width - gap),
    height: Math.max(1, shape.height - gap),
  }));
}
