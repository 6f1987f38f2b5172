import { expect, test } from 'vitest';
import type { CellsAnswer } from '../../api/schema';
import { percentText, toneOf } from '../../ui/Meter';
import { machineGrid, machineOf, nodeValue, workerBoxes, workerLabel, workerValue } from './machine';

function cells(many: number, each: number): CellsAnswer {
  const nodes = Array.from({ length: many }, (_, at) => at);
  const workers = nodes.flatMap((node) => Array.from({ length: each }, () => node));
  return {
    session: 's',
    live: true,
    at_ns: 1,
    nodes: {
      node_id: nodes.map((at) => `${String(at).padStart(6, '0')}abc`),
      name: nodes.map((at) => (at < 2 ? 'same' : `n${at}`)),
      is_head: nodes.map((at) => at === 0),
      workers: nodes.map(() => each),
      internal: nodes.map(() => 0),
      running: nodes.map(() => 0),
    },
    workers: {
      key: workers.map(String),
      node: workers,
      kind: workers.map(() => 0),
      is_internal: workers.map(() => false),
      pid: workers.map((_, at) => at),
      actor_class: workers.map(() => -1),
      function: workers.map(() => -1),
      running: workers.map(() => 0),
    },
    kinds: ['WORKER'],
    classes: [],
    functions: [],
    measured: {
      nodes: {
        cpu: nodes.map((at) => (at === 1 ? -1 : at % 100)),
        memory: nodes.map(() => 50),
        gpu: nodes.map(() => -1),
        gpu_memory: nodes.map(() => -1),
        disk: nodes.map(() => 1),
        object_store: nodes.map(() => 0),
      },
      time_ns: 1,
      cpu: workers.map((_, at) => at),
      memory: workers.map(() => 25),
      gpu_memory: workers.map(() => 0),
      mem_total: nodes.map(() => 100),
      gpu_mem_total: nodes.map(() => -1),
      cpus: nodes.map(() => 4),
    },
    usage_error: null,
    usage_remedy: null,
    usage_code: null,
    usage_params: null,
    dead: [
      {
        node_id: 'dd',
        name: null,
        node_ip: null,
        is_head: false,
        end_ns: 1,
        death_reason: 'LOST',
        resources_total: null,
      },
    ],
    nodes_total: many,
    workers_total: many * each,
    workers_left_out: 0,
  };
}

test('a thousand nodes with ten workers each fit on one screen, and none overlap', () => {
  const machine = machineOf(cells(1000, 10), 'cpu', false);
  const grid = machineGrid(machine.order.length, 1200, 720);
  expect(grid.columns * grid.width).toBeLessThanOrEqual(1200);
  expect(grid.rows * grid.height).toBeLessThanOrEqual(720);
  const cell = { x: 0, y: 0, width: grid.width - grid.gap, height: grid.height - grid.gap };
  const boxes = workerBoxes(machine, cell, 5);
  expect(boxes).toHaveLength(10);
  const [first, second] = boxes;
  expect(second?.x).toBeGreaterThanOrEqual((first?.x ?? 0) + (first?.width ?? 0));
  for (const box of boxes) {
    expect(box.x + box.width).toBeLessThanOrEqual(cell.width + 0.01);
    expect(box.y + box.height).toBeLessThanOrEqual(cell.height + 0.01);
  }
});

test('the fullest come first, unknown and dead ones last', () => {
  const machine = machineOf(cells(4, 1), 'cpu', true);
  expect(machine.order).toEqual([3, 2, 0, 1, 4]);
  expect(nodeValue(machine, 1)).toBeNull();
  expect(nodeValue(machine, 4)).toBeNull();
});

test('a worker is measured by its share of a core or of memory, not by disks', () => {
  const of = (measure: 'cpu' | 'memory' | 'disk' | 'gpu_memory') => machineOf(cells(2, 3), measure, false);
  expect(workerValue(of('cpu'), 4)).toBe(4);
  expect(workerValue(of('memory'), 4)).toBe(25);
  expect(workerValue(of('gpu_memory'), 4)).toBeNull();
  expect(workerValue(of('disk'), 4)).toBeNull();
});

test('names distinguish nodes', () => {
  const { names } = machineOf(cells(3, 1), 'cpu', false);
  expect(names).toEqual(['same · 000000', 'same · 000001', 'n2', 'dd']);
});

test('names distinguish dead nodes from live ones of their host', () => {
  const { dead, ...rest } = cells(3, 1);
  const { names } = machineOf({ ...rest, dead: dead.map((node) => ({ ...node, name: 'n2' })) }, 'cpu', false);
  expect(names.slice(2)).toEqual(['n2 · 000002', 'n2 · dd']);
});

test('a process of Ray is not labelled like one of the user', () => {
  const { workers, ...all } = cells(1, 4);
  const machine = machineOf(
    {
      ...all,
      kinds: ['WORKER', 'DRIVER'],
      classes: ['JobSupervisor', 'Q'],
      workers: {
        ...workers,
        kind: [1, 1, 0, 0],
        actor_class: [-1, -1, 0, 1],
        is_internal: [true, false, true, false],
      },
    },
    'cpu',
    false,
  );
  const texts = { unknown: '–', dead: 'dead', internal: 'Ray internal', driver: 'driver', worker: 'worker' };
  expect([0, 1, 2, 3].map((worker) => workerLabel(machine, worker, texts))).toEqual([
    ['Ray internal', 'driver'],
    ['driver'],
    ['Ray internal', 'JobSupervisor'],
    ['Q'],
  ]);
});

test('percentages and their tones', () => {
  expect([percentText(0), percentText(6.66), percentText(61.4), percentText(-1)]).toEqual([
    '0%',
    '6.7%',
    '61%',
    '–',
  ]);
  expect([toneOf(10), toneOf(80), toneOf(95)]).toEqual(['busy', 'waiting', 'bad']);
});
