/** The machine view: what each cell is worth, where it is, and how it is drawn. */

import type { Cells, Measure } from '../../api/nodes';
import { type Box, cellAt, type Grid, gridOf, slotGrid } from '../../base/grid';

/** One node's place: of the nodes that live, or (from `alive` on) of those that are dead. */
export interface Machine {
  cells: Cells;
  measure: Measure;
  /** Nodes in the order in which they are drawn; numbers from `cells.nodes.id.length` on are dead ones. */
  order: number[];
  /** The workers of each living node. */
  workers: number[][];
  /** The most workers that a node has. */
  most: number;
  names: string[];
}

export const MARGIN = 8;
/** px: a cell grows no wider, however few there are. */
const WIDEST = 340;
/** px: below these a cell has no name, and no head at all. */
const NAMED = 74;
const HEADED = 26;

export function machineOf(cells: Cells, measure: Measure, fullestFirst: boolean): Machine {
  const workers: number[][] = cells.nodes.id.map(() => []);
  cells.workers.node.forEach((node, at) => {
    workers[node]?.push(at);
  });
  const order = cells.nodes.id.map((_, at) => at);
  const values = cells.measured.nodes[measure];
  if (fullestFirst) order.sort((a, b) => (values[b] ?? -1) - (values[a] ?? -1) || a - b);
  cells.dead.forEach((_, at) => {
    order.push(cells.nodes.id.length + at);
  });
  return {
    cells,
    measure,
    order,
    workers,
    most: workers.reduce((all, one) => Math.max(all, one.length), 1),
    names: cellNames(cells),
  };
}

/** The grid of so many cells on a canvas: as large as fit, up to a size. */
export function machineGrid(many: number, width: number, height: number): Grid {
  const grid = gridOf(many, Math.max(1, width - 2 * MARGIN), Math.max(1, height - 2 * MARGIN));
  if (grid.width <= WIDEST) return grid;
  const columns = Math.max(1, Math.min(many, Math.floor((width - 2 * MARGIN) / WIDEST)));
  return {
    ...grid,
    columns,
    rows: Math.ceil(many / columns),
    width: WIDEST,
    height: (grid.height / grid.width) * WIDEST,
  };
}

/** Names that tell nodes apart: of those with the same name the beginning of the id too. */
export function cellNames(cells: Cells): string[] {
  const many = new Map<string, number>();
  for (const name of cells.nodes.name) many.set(name, (many.get(name) ?? 0) + 1);
  return cells.nodes.name.map((name, at) =>
    (many.get(name) ?? 0) > 1 ? `${name} · ${cells.nodes.id[at]?.slice(0, 6)}` : name,
  );
}

/** What a node uses, in percent; null: not known (or dead). */
export function nodeValue({ cells, measure }: Machine, node: number): number | null {
  const value = cells.measured.nodes[measure][node];
  return value === undefined || value < 0 ? null : value;
}

/** What a worker uses, in percent of a core or of its node's memory; null: not known, or not measured so. */
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

/** What is above a node's workers, px. */
export function headOf(cell: Box): number {
  if (cell.width < HEADED || cell.height < 16) return 0;
  return cell.width < NAMED ? 5 : 17;
}

export function cellOf(grid: Grid, place: number): Box {
  const box = cellAt(grid, place);
  return { ...box, x: box.x + MARGIN, y: box.y + MARGIN };
}

/** The boxes of a node's workers inside its cell. */
export function workerBoxes(machine: Machine, cell: Box, node: number): Box[] {
  const many = machine.workers[node]?.length ?? 0;
  if (many === 0) return [];
  const head = headOf(cell);
  const pad = cell.width < 40 ? 1.5 : 4;
  const room = {
    x: cell.x + pad,
    y: cell.y + head + pad,
    width: cell.width - 2 * pad,
    height: cell.height - head - 2 * pad,
  };
  const shape = slotGrid(Math.max(many, Math.min(machine.most, 4 * many)), room);
  const gap = shape.width < 5 ? 0.5 : Math.min(3, shape.width * 0.12);
  return Array.from({ length: many }, (_, at) => ({
    x: room.x + (at % shape.columns) * shape.width,
    y: room.y + Math.floor(at / shape.columns) * shape.height,
    width: Math.max(1, shape.width - gap),
    height: Math.max(1, shape.height - gap),
  }));
}
