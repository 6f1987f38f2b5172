import { describe, expect, it } from 'vitest';
import type { QueryAnswer } from '../../api/schema';
import { seriesColors, surfaceColors } from '../../base/tokens';
import {
  colorsOf,
  csv,
  drawn,
  endOf,
  figures,
  fillLegend,
  isolatedPoints,
  latest,
  occurring,
  stackLines,
} from './series';
import {
  aligned,
  choiceOf,
  dragged,
  moves,
  nanos,
  rangeOf,
  spanMillis,
  stepOf,
  withChoice,
} from './timeRange';
import { countIncrements, timeMarks, valueText } from './units';
import { placed } from './useMarks';

const WARNING = { code: 'warning', message: 'w', remedy: '' };

const MINUTE = 60_000;
const live = { first: 0, last: 50 * MINUTE, live: true };
const ended = { first: 10 * MINUTE, last: 40 * MINUTE, live: false };

it('leaves out the parts of a stack that never occur', () => {
  const line = (key: string, values: (number | null)[]) => ({ key, name: key, values });
  const lines = [line('never', [0, null, 0]), line('once', [0, 1, 0]), line('unknown', [null, null, null])];
  expect(occurring(lines).map(({ key }) => key)).toEqual(['once']);
});

it('places marks at their times, and merges overlapping ones', () => {
  const mark = (ms: number) => ({ ms, tone: 'bad' as const, text: String(ms) });
  const found = placed([-1, 0, 50, 52, 100, 101].map(mark), 0, 100, 200);
  expect(found.map(({ x, marks }) => [x, marks.length])).toEqual([
    [0, 1],
    [100, 2],
    [200, 1],
  ]);
});

describe('the range of time', () => {
  it('is read from the URL and written to it as it was', () => {
    const bare = { page: 'session', session: 's', view: 'metrics', filters: {} } as const;
    for (const choice of [
      { filters: {}, settings: { span: '1h' } },
      { filters: {}, settings: { span: 'all' } },
      { filters: { since_ns: '1000000000', until_ns: '2000000000' } },
    ])
      expect(withChoice(bare, choiceOf(choice, true))).toEqual({ ...bare, ...choice });
    expect(withChoice({ ...bare, settings: { span: '1h' } }, null)).toEqual(bare);
  });
  it("falls back to the session's default if the URL is invalid", () => {
    expect(choiceOf({ filters: {}, settings: { span: '1y' } }, true)).toEqual({ kind: 'span', span: '15m' });
    expect(choiceOf({ filters: { since_ns: '20', until_ns: '10' } }, false)).toEqual({ kind: 'all' });
    expect(spanMillis('0s')).toBeNull();
    expect(spanMillis('90s')).toBe(90_000);
  });
  it('converts current times to ns exactly to the millisecond', () => {
    expect(nanos(1_795_000_000_123)).toBe('1795000000123000000');
    expect(
      choiceOf({ filters: { since_ns: '1795000000123000000', until_ns: '1795000001000000000' } }, true),
    ).toEqual({
      kind: 'fixed',
      from: 1_795_000_000_123,
      to: 1_795_000_001_000,
    });
  });
  it('ends now for a live session, at its end for an ended one, and moves only while there may be more data', () => {
    const now = 100 * MINUTE;
    expect(rangeOf({ kind: 'span', span: '15m' }, live, now)).toEqual({ from: 85 * MINUTE, to: now });
    expect(rangeOf({ kind: 'span', span: '15m' }, { ...live, first: 97 * MINUTE }, now).from).toBe(
      97 * MINUTE - 10_000,
    );
    expect(rangeOf({ kind: 'span', span: '5m' }, { ...live, first: now }, now).from).toBe(now - 2 * MINUTE);
    expect(rangeOf({ kind: 'span', span: '15m' }, ended, now).to).toBe(40 * MINUTE + 10_000);
    expect(rangeOf({ kind: 'all' }, ended, now).from).toBe(10 * MINUTE - 10_000);
    expect(moves({ kind: 'all' }, live, now)).toBe(true);
    expect(moves({ kind: 'all' }, ended, now)).toBe(false);
    expect(moves({ kind: 'fixed', from: 0, to: MINUTE }, live, now)).toBe(false);
  });
  it('requests no more points than can be drawn, at the same times while it moves', () => {
    for (const span of ['5s', '5m', '15m', '6h', '7d', '30d', '400d']) {
      const range = { from: 0, to: spanMillis(span) ?? 0 };
      expect((range.to - range.from) / 1e3 / stepOf(range)).toBeLessThanOrEqual(240);
    }
    const step = stepOf({ from: 0, to: 15 * MINUTE });
    const one = aligned({ from: 7_001, to: 7_001 + 15 * MINUTE }, step);
    const next = aligned({ from: 12_001, to: 12_001 + 15 * MINUTE }, step);
    expect((next.from - one.from) % (step * 1e3)).toBe(0);
  });
  it('accepts a drag in either direction and never becomes too short to draw', () => {
    expect(dragged(9_000, 1_000)).toEqual({ from: 1_000, to: 9_000 });
    const short = dragged(10_000, 10_010);
    expect(short.to - short.from).toBe(5_000);
  });
});

const answer = (
  times: number[],
  series: [Record<string, string>, (number | null)[]][],
  more: Partial<QueryAnswer> = {},
): QueryAnswer => ({
  session: 's',
  expr: 'x',
  since_ns: 0,
  until_ns: 1e10,
  step_ns: 5e9,
  times_ms: times,
  series: series.map(([labels, values]) => ({ labels, values })),
  left_out: 0,
  next: null,
  warnings: [],
  source: 'record',
  unit: '',
  ...more,
});

describe('lines of a chart', () => {
  it('are named by the labels that distinguish them', () => {
    const both = { __name__: 'cpu', job: 'ray', node_ip: '10.0.0.' };
    const { lines } = drawn(
      [{ expr: 'cpu' }],
      [
        answer(
          [0],
          [
            [{ ...both, node_ip: '10.0.0.10', node_id: 'b'.repeat(56) }, [1]],
            [{ ...both, node_ip: '10.0.0.9', node_id: 'a'.repeat(56) }, [2]],
          ],
        ),
      ],
    );
    expect(lines.map(({ name }) => name)).toEqual(['10.0.0.9', '10.0.0.10']);
    expect(drawn([{ expr: 'cpu' }], [answer([0], [[both, [1]]])]).lines[0]?.name).toBe('cpu');
    // Two nodes on one machine.
    const head = { ...both, IsHeadNode: 'true', node_id: 'a'.repeat(56) };
    const other = { ...both, IsHeadNode: 'false', node_id: 'b'.repeat(56) };
    const two = [
      answer(
        [0],
        [head, other].map((labels) => [labels, [1]]),
      ),
    ];
    expect(drawn([{ expr: 'cpu' }], two).lines.map(({ name }) => name)).toEqual(['aaaaaaaa', 'bbbbbbbb']);
    const byIp = drawn([{ expr: 'cpu', legend: '{{node_ip}}' }], two, new Map([['a'.repeat(56), 'gpu-1']]));
    expect(byIp.lines.map(({ name }) => name)).toEqual(['10.0.0.', 'gpu-1']);
    expect(fillLegend('{{node_id}} {{ GPU }}', { node_id: 'ab'.repeat(28) })).toBe('abababab');
  });
  it('of several queries share the same times; missing values are gaps', () => {
    const found = drawn(
      [
        { expr: 'a', legend: 'used' },
        { expr: 'b', legend: 'used' },
      ],
      [
        answer([0, 10], [[{}, [1, Number.NaN]]], { left_out: 3 }),
        answer([10, 20], [[{}, [2, 3]]], { left_out: 4, warnings: [WARNING], unit: 'bytes' }),
      ],
    );
    expect(found.times).toEqual([0, 10, 20]);
    expect(found.lines.map(({ values }) => values)).toEqual([
      [1, null, null],
      [null, 2, 3],
    ]);
    expect(found.lines.map(({ name }) => name)).toEqual(['used', 'used (2)']);
    expect(found).toMatchObject({ leftOut: 7, warnings: [WARNING], unit: 'bytes' });
  });
  it('of several queries are distinguished by the query if their labels are equal', () => {
    const nodes = (value: number) =>
      [1, 2].map((n): [Record<string, string>, number[]] => [{ node: `n${n}` }, [value]]);
    const two = [answer([0], nodes(1)), answer([0], nodes(2))];
    const names = (...answers: QueryAnswer[]) =>
      drawn([{ expr: 'cpu' }, { expr: 'mem' }], answers).lines.map(({ name }) => name);
    expect(names(...two)).toEqual(['cpu · n1', 'cpu · n2', 'mem · n1', 'mem · n2']);
    expect(names(answer([0], nodes(1)), answer([0], [[{}, [2]]]))).toEqual(['n1', 'n2', 'mem']);
  });
  it('keep their colour across answers and charts, and never share one while there are enough', () => {
    const known = new Map<string, number>();
    const [a, b] = colorsOf(['a', 'b'], known, 12);
    expect(colorsOf(['c', 'b', 'a'], known, 12).slice(1)).toEqual([b, a]);
    const names = Array.from({ length: 12 }, (_, at) => `line ${at}`);
    expect(new Set(colorsOf(names, known, 12)).size).toBe(12);
    expect(colorsOf([...names, 'more'], new Map(), 12)).toHaveLength(13);
  });
  it('are stacked so that a gap in one does not affect the others', () => {
    const lines = [
      [1, null, null, 4],
      [10, 20, null, null],
    ].map((values, at) => ({ key: String(at), name: '', values }));
    expect(stackLines(lines)).toEqual([
      [1, 0, null, 4],
      [11, 20, null, 4],
    ]);
  });
  it('have figures of the known values, and a latest value only until they end', () => {
    expect(figures([null, 2, 4, null])).toEqual({ last: 4, least: 2, mean: 3, most: 4 });
    expect(figures([null])).toEqual({ last: null, least: null, mean: null, most: null });
    expect(latest([1, 2, null])).toBe(2);
    expect(latest([1, null, null, null])).toBeNull();
    expect(endOf([{ values: [1, 2, null, null] }, { values: [1, null, null, null] }])).toBe(2);
    expect(latest([1, 2, null, null], 2)).toBe(2);
    expect(isolatedPoints([1, null, 2, 3, null, 4])).toEqual([0, 5]);
  });
  it('are exported so that no spreadsheet evaluates them', () => {
    const lines = [{ key: '', name: '=cmd("x")', values: [1, null] }];
    expect(csv({ times: [0, 5_000], lines })).toBe(
      'time,"\'=cmd(""x"")"\n1970-01-01T00:00:00.000Z,1\n1970-01-01T00:00:05.000Z,\n',
    );
  });
});

describe('values', () => {
  it('have their unit and only significant digits', () => {
    const expected: [number | null, string, string][] = [
      [null, 'bytes', '–'],
      [0.333, 'bytes', '0.3 B'],
      [0.00136, 'bytes/s', '0 B/s'],
      [1536, 'bytes/s', '1.50 KiB/s'],
      [99.96, 'percent', '100%'],
      [0.5, 'percent', '0.5%'],
      [0.25, 'ratio', '25%'],
      [0.0123, 's', '12.3 ms'],
      [1234, 'count', '1,234'],
      [1_234_567, '', '1.23M'],
      [999_999, '', '1M'],
      [0.3333333, 'count/s', '0.333/s'],
      [-2048, 'bytes', '−2.00 KiB'],
    ];
    for (const [value, unit, text] of expected) expect(valueText(value, unit), text).toBe(text);
  });
  it('are marked on the time axis with the date of a new day', () => {
    const noon = new Date(2026, 10, 22, 23, 58).getTime();
    expect(timeMarks([noon, noon + 2 * MINUTE, noon + 4 * MINUTE], 120)).toEqual(['23:58', '11-23', '00:02']);
    expect(timeMarks([noon], 10)).toEqual(['23:58:00']);
  });
});

describe('the colours of lines', () => {
  const linear = (text: string) =>
    [1, 3, 5].map((at) => {
      const part = Number.parseInt(text.slice(at, at + 2), 16) / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    }) as [number, number, number];
  const light = (text: string) => {
    const [r, g, b] = linear(text);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (one: string, other: string) => {
    const [low, high] = [light(one), light(other)].sort((a, b) => a - b) as [number, number];
    return (high + 0.05) / (low + 0.05);
  };
  /** OKLab: equal distances look equally different. */
  const lab = (text: string) => {
    const [r, g, b] = linear(text);
    const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
    const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
    const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
    return [
      0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
      1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
      0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
    ] as [number, number, number];
  };
  it('are readable on a panel and distinguishable in both themes', () => {
    expect(seriesColors.length).toBeGreaterThanOrEqual(12);
    for (const scheme of ['light', 'dark'] as const) {
      const shades = seriesColors.map((color) => color[scheme]);
      for (const [at, one] of shades.entries()) {
        expect(contrast(one, surfaceColors.panel[scheme]), one).toBeGreaterThanOrEqual(3);
        for (const other of shades.slice(0, at)) {
          const [p, q] = [lab(one), lab(other)];
          const apart = Math.hypot(p[0] - q[0], p[1] - q[1], p[2] - q[2]);
          expect(apart, `${one} ${other}`).toBeGreaterThan(0.08);
        }
      }
    }
  });
});

it('marks the axis of counts with whole numbers, if all counts are', () => {
  expect(countIncrements([{ values: [1, null] }])[0]).toBe(1);
  expect(countIncrements([{ values: [1] }, { values: [0.5] }])[0]).toBe(0.001);
});
