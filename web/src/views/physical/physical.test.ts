import { expect, test } from 'vitest';
import type { PhysicalAnswer, PhysicalNode } from '../../api/schema';
import { cellAt, gridOf, NONE, slotGrid } from '../../base/grid';
import { uniqueNames } from '../../base/nodeTitle';
import {
  fills,
  matches,
  measuredShare,
  numeric,
  orderOf,
  type Physical,
  parseColor,
  resourcesOf,
  slotsOf,
  unpack,
  usedShare,
} from './physical';
import { labelOf, type Scene } from './physicalScene';

const node = (id: string, name: string, cpus: number, used: number, more: Partial<PhysicalNode> = {}) => ({
  node_id: id,
  name,
  node_ip: null,
  is_head: false,
  is_known: true,
  start_ns: null,
  total: { CPU: cpus },
  used: { CPU: used },
  internal: 0,
  workers: 0,
  actors: 0,
  running: 0,
  blocked: 0,
  bytes: 0,
  left_out: 0,
  ...more,
});

const group = { group: 'g', name: 'train', resources: null };
/** A head node with a driver, and a node with a task, an actor in bundle 1, and an empty bundle 0. */
const data: Physical = {
  session: 's',
  at_ns: 1,
  live: false,
  nodes: [node('aa', 'head', 4, 0, { is_head: true }), node('bb', 'n', 4, 1), node('cc', 'n', 2, 2)],
  workers: {
    key: ['0d', '1a', '2b'],
    node: [0, 1, 1],
    kind: [0, 1, 1],
    is_internal: [false, false, false],
    pid: [10, 11, 12],
    job: [0, 0, -1],
    actor_class: [-1, -1, 0],
    actor_state: [-1, -1, 0],
    function: [-1, 0, -1],
    running: [0, 1, 0],
    blocked: [0, 0, 0],
    reserved: [0, 1, 2],
    bundle: [-1, -1, 1],
    bytes: [],
    annotation: [-1, -1, -1],
  },
  bundles: [
    { ...group, index: 0, node: 1 },
    { ...group, index: 1, node: 1 },
  ],
  kinds: ['DRIVER', 'WORKER'],
  jobs: ['01'],
  scripts: {},
  classes: ['Model'],
  states: ['ALIVE'],
  functions: ['train_step'],
  reserved: [{}, { CPU: 1, disk: 1 }, { CPU: 2 }],
  values: [],
  nodes_total: 3,
  workers_total: 3,
  bundles_total: 2,
  workers_left_out: 0,
  measured: {
    nodes: { cpu: [5, 90, -1], memory: [], gpu: [], gpu_memory: [], disk: [], object_store: [] },
    time_ns: 1,
    cpu: [5, 250, -1],
    memory: [100, 200, -1],
    gpu_memory: [0, 5, -1],
    mem_total: [1000, 400, -1],
    gpu_mem_total: [-1, 10, -1],
    cpus: [4, 4, -1],
  },
  annotations: [],
};

test('an empty bundle has its own slot, and workers in a bundle are next to it', () => {
  expect(slotsOf(data)).toEqual([
    [{ worker: 0, bundle: NONE }],
    [
      { worker: 1, bundle: NONE },
      { worker: NONE, bundle: 0 },
      { worker: 2, bundle: 1 },
    ],
    [],
  ]);
});

test("Ray's own processes have a slot only on request", () => {
  const own = { ...data, workers: { ...data.workers, is_internal: [true, false, false] } };
  expect(slotsOf(own)[0]).toEqual([]);
  expect(slotsOf(own, true)).toEqual(slotsOf(data));
});

test('nodes are ordered by name, or fullest first after the head', () => {
  expect(orderOf(data, undefined)).toEqual([0, 1, 2]);
  expect(orderOf(data, 'used')).toEqual([0, 2, 1]);
  expect(usedShare(data.nodes[1] as PhysicalNode, 'GPU')).toBeNull();
  expect(uniqueNames(data.nodes)).toEqual(['head', 'n · bb', 'n · cc']);
});

test('workers are filled relative to the largest holder', () => {
  expect(resourcesOf(data)).toEqual(['CPU', 'memory', 'disk']);
  expect(fills(data, 'CPU')).toEqual([0, 0.5, 1]);
  expect(fills(data, 'equal')).toEqual([1, 1, 1]);
  expect(fills(data, 'GPU')).toEqual([1, 1, 1]);
});

test('a worker that runs a function without a known name is not called idle', () => {
  const texts = {
    driver: 'D',
    internal: 'I',
    head: 'H',
    idle: 'Idle',
    unnamed: '?',
    bundle: 'B',
    blocked: 'b',
  };
  const label = (functions: string[], worker: number) =>
    labelOf({ data: { ...data, functions }, texts } as unknown as Scene, worker);
  expect(label(['load'], 1)).toEqual(['load', '']);
  expect(label([''], 1)).toEqual(['?', '']);
  expect(label([''], 0)).toEqual(['D', '']);
});

test('a search finds nodes with everything on them, and workers by what they run', () => {
  expect(matches(data, ' ')).toBeNull();
  expect(matches(data, 'STEP')).toEqual({ nodes: new Set(), workers: new Set([1]) });
  expect(matches(data, '12')?.workers).toEqual(new Set([2]));
  expect(matches(data, 'head')).toEqual({ nodes: new Set([0]), workers: new Set([0]) });
});

test('the colour setting in a URL', () => {
  expect(parseColor('r:CPU')).toEqual({ by: 'resource', name: 'CPU' });
  expect(parseColor('a:loss')).toEqual({ by: 'annotation', name: 'loss' });
  expect(parseColor('m:memory')).toEqual({ by: 'measured', name: 'memory' });
  expect(parseColor('m:nonsense')).toEqual({ by: 'function' });
  expect(parseColor('nonsense')).toEqual({ by: 'function' });
  expect(numeric(['1', '-2.5'])).toEqual({ of: [1, -2.5], least: -2.5, most: 1 });
  expect(numeric(['1', 'even'])).toBeNull();
});

test('cells do not overlap and fit, however many there are', () => {
  for (const cellCount of [1, 2, 7, 50, 1000]) {
    const grid = gridOf(cellCount, 900, 500);
    expect(grid.columns * grid.width).toBeLessThanOrEqual(900.001);
    expect(grid.rows * grid.height).toBeLessThanOrEqual(500.001);
    expect(grid.columns * grid.rows).toBeGreaterThanOrEqual(cellCount);
    const [first, second] = [cellAt(grid, 0), cellAt(grid, 1)];
    expect(first.width).toBeGreaterThan(5);
    if (grid.columns > 1) expect(second.x).toBeGreaterThanOrEqual(first.x + first.width);
    const slots = slotGrid(cellCount, first);
    expect(slots.columns * slots.width).toBeLessThanOrEqual(first.width + 0.001);
    expect(Math.ceil(cellCount / slots.columns) * slots.height).toBeLessThanOrEqual(first.height + 0.001);
  }
});

test("measurements are shares of a core or of the node's memory", () => {
  expect(measuredShare(data, 'cpu', 1)).toBe(2.5);
  expect(measuredShare(data, 'memory', 1)).toBe(0.5);
  expect(measuredShare(data, 'gpu_memory', 1)).toBe(0.5);
  // The value is unknown, the node has no GPU, or the time is in the past.
  expect(measuredShare(data, 'cpu', 2)).toBeNull();
  expect(measuredShare(data, 'gpu_memory', 0)).toBeNull();
  expect(measuredShare({ ...data, measured: null }, 'cpu', 1)).toBeNull();
});

test('nodes and bundles are unpacked from columns with list indexes', () => {
  const columns = <T extends object>(rows: T[]) =>
    Object.fromEntries(
      Object.keys(rows[0] ?? {}).map((key) => [key, rows.map((row) => row[key as keyof T])]),
    );
  const nodes = data.nodes.map((one, at) => ({ ...one, total: at === 0 ? NONE : 0, used: 0 }));
  const bundles = data.bundles.map(({ index, node }, at) => ({
    group: 0,
    index,
    node,
    resources: at === 0 ? 0 : NONE,
  }));
  const packed = {
    ...data,
    nodes: columns(nodes),
    bundles: columns(bundles),
    groups: [{ placement_group_id: 'g', name: 'train' }],
    amounts: [{ CPU: 4 }],
    workers: { ...data.workers, annotation: [] },
  } as unknown as PhysicalAnswer;
  const unpacked = unpack(packed);
  expect(unpacked.nodes).toEqual(
    data.nodes.map((one, at) => ({ ...one, total: at === 0 ? null : { CPU: 4 }, used: { CPU: 4 } })),
  );
  expect(unpacked.bundles).toEqual(
    data.bundles.map((one, at) => ({
      ...one,
      group: 'g',
      name: 'train',
      resources: at === 0 ? { CPU: 4 } : null,
    })),
  );
  expect(unpacked.workers.annotation).toEqual(data.workers.key.map(() => NONE));
  expect(unpacked).not.toHaveProperty('amounts');
});
