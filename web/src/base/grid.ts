/** Layout of grid cells and of the slots inside a cell. */

/** The index that stands for no cell. */
export const NONE = -1;

/** Width of a cell divided by its height. */
const SHAPE = 1.4;

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface Grid {
  columns: number;
  rows: number;
  /** Size of a cell including its gap, and the gap itself. */
  width: number;
  height: number;
  gap: number;
}

/**
 * The grid with the largest cells that fit this number of cells into the area. The cells have a fixed aspect
 * ratio and are at most `widest` wide.
 */
export function gridOf(cellCount: number, width: number, height: number, widest = 520): Grid {
  let best = { columns: 1, cell: 0 };
  for (let columns = 1; columns <= Math.max(1, cellCount); columns += 1) {
    const rows = Math.ceil(Math.max(1, cellCount) / columns);
    const cell = Math.min(width / columns, (height / rows) * SHAPE);
    if (cell > best.cell + 1e-9) best = { columns, cell };
  }
  const cell = Math.min(best.cell, widest);
  return {
    columns: best.columns,
    rows: Math.ceil(Math.max(1, cellCount) / best.columns),
    width: cell,
    height: cell / SHAPE,
    gap: Math.min(14, Math.max(1.5, cell * 0.06)),
  };
}

/** The box of the cell at an index, in grid coordinates. */
export function cellAt(grid: Grid, place: number): Box {
  return {
    x: (place % grid.columns) * grid.width + grid.gap / 2,
    y: Math.floor(place / grid.columns) * grid.height + grid.gap / 2,
    width: grid.width - grid.gap,
    height: grid.height - grid.gap,
  };
}

/** The index of the cell at a point in grid coordinates; NONE outside the columns. */
export function indexAt(grid: Grid, x: number, y: number): number {
  const column = Math.floor(x / grid.width);
  const row = Math.floor(y / grid.height);
  return column < 0 || column >= grid.columns || row < 0 ? NONE : row * grid.columns + column;
}

export const isInside = (box: Box, x: number, y: number): boolean =>
  x >= box.x && y >= box.y && x < box.x + box.width && y < box.y + box.height;

/**
 * Columns and slot size for the largest slots that fit into a box. A slot is at most twice as wide as high.
 */
export function slotGrid(slotCount: number, box: Box): { columns: number; width: number; height: number } {
  let best = { columns: 1, width: 0, height: 0, score: -1 };
  for (let columns = 1; columns <= Math.max(1, slotCount); columns += 1) {
    const rows = Math.ceil(Math.max(1, slotCount) / columns);
    const width = box.width / columns;
    const height = Math.min(box.height / rows, width * 1.2);
    const score = Math.min(width, height * 2) * height;
    if (score > best.score) best = { columns, width: Math.min(width, height * 2.2), height, score };
  }
  return best;
}
