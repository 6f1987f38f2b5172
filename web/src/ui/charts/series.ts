/** Turns the answers of `/api/v1/metrics/query` into the lines of a chart. */

import type { QueryGiven as Query, QueryAnswer } from '../../api/schema';
import type { ServerMessage } from '../../base/serverMessage';

export type { QueryGiven as Query } from '../../api/schema';

export interface Line {
  /** Identifies the series across answers. */
  key: string;
  name: string;
  values: (number | null)[];
  /** Drawn as a thick line. */
  bold?: boolean;
}

export interface Drawn {
  /** ms since the epoch, ascending. */
  times: number[];
  lines: Line[];
  leftOut: number;
  warnings: ServerMessage[];
  source: 'record' | 'prometheus';
  unit: string;
  from: number;
  to: number;
}

/** Labels that mean nothing to a user. */
const IGNORED_LABELS = new Set([
  '__name__',
  'SessionName',
  'session',
  'Version',
  'job',
  'instance',
  'IsHeadNode',
  'RayNodeType',
  'ip',
]);

function short(name: string, value: string): string {
  return /(_id|Id)$/.test(name) && /^[0-9a-f]{16,}$/i.test(value) ? value.slice(0, 8) : value;
}

export function fillLegend(template: string, labels: Record<string, string>): string {
  return template
    .replace(/\{\{\s*([\w.]+)\s*\}\}/g, (_, name: string) => short(name, labels[name] ?? ''))
    .replace(/\s+/g, ' ')
    .trim();
}

/**
 * The labels whose values differ between the series, and therefore distinguish them. Those that mean
 * something to a user come first.
 */
export function distinguishingLabels(all: readonly Record<string, string>[]): string[] {
  const names = new Set(all.flatMap((labels) => Object.keys(labels)));
  return [...names]
    .filter((name) => all.some((labels) => labels[name] !== all[0]?.[name]))
    .sort((a, b) => Number(IGNORED_LABELS.has(a)) - Number(IGNORED_LABELS.has(b)) || (a < b ? -1 : 1));
}

/**
 * The name of a series: the values of the labels that distinguish it. The node's id is left out if the node's
 * address is among them.
 */
function named(labels: Record<string, string>, distinguishing: readonly string[], expr: string): string {
  const shown = distinguishing.filter(
    (name) => labels[name] && !(name === 'node_id' && distinguishing.includes('node_ip')),
  );
  const useful = shown.some((name) => !IGNORED_LABELS.has(name))
    ? shown.filter((name) => !IGNORED_LABELS.has(name))
    : shown;
  if (useful.length === 0) return labels.__name__ ?? expr;
  return useful.map((name) => short(name, labels[name] ?? '')).join(' · ');
}

/** Builds one chart from the answers to its queries. A node is named by `nodeNames`, otherwise by its address. */
export function drawn(
  queries: readonly Query[],
  answers: readonly QueryAnswer[],
  nodeNames?: ReadonlyMap<string, string>,
): Drawn {
  const [first] = answers;
  const times = [...new Set(answers.flatMap((answer) => answer.times_ms))].sort((a, b) => a - b);
  const place = new Map(times.map((time, at) => [time, at]));
  const distinguishing = distinguishingLabels(
    answers.flatMap((answer) => answer.series.map(({ labels }) => labels)),
  );
  const lines = answers.flatMap((answer, which) => {
    const { expr, legend, bold }: Query = queries[which] ?? { expr: answer.expr };
    return answer.series.map(({ labels, values }) => {
      const spread = new Array<number | null>(times.length).fill(null);
      answer.times_ms.forEach((time, at) => {
        const value = values[at];
        spread[place.get(time) ?? 0] = typeof value === 'number' && Number.isFinite(value) ? value : null;
      });
      const node = nodeNames?.get(labels.node_id ?? '');
      const said = node !== undefined && labels.node_ip ? { ...labels, node_ip: node } : labels;
      const name = legend == null ? named(said, distinguishing, expr) : fillLegend(legend, said) || expr;
      return { key: `${which} ${JSON.stringify(Object.entries(labels).sort())}`, name, values: spread, bold };
    });
  });
  // A fixed order, so that lines keep their place and colour across answers.
  const compare = new Intl.Collator('en', { numeric: true }).compare;
  if (queries.length === 1) lines.sort((a, b) => compare(a.name, b.name) || compare(a.key, b.key));
  const warnings = new Map(answers.flatMap((answer) => answer.warnings).map((one) => [one.message, one]));
  return {
    times,
    lines: uniqueNames(byQuery(lines, queries)),
    leftOut: answers.reduce((sum, answer) => sum + answer.left_out, 0),
    warnings: [...warnings.values()],
    source: answers.some((answer) => answer.source === 'prometheus') ? 'prometheus' : 'record',
    unit: answers.find((answer) => answer.unit !== '')?.unit ?? '',
    from: (first?.since_ns ?? 0) / 1e6,
    to: (first?.until_ns ?? 0) / 1e6,
  };
}

/**
 * Renames lines if there are several queries. If a query has only one line, the line is named after the
 * query. If lines of different queries have the same name, it is prefixed with the query. Lines with a legend
 * keep their name.
 */
function byQuery(lines: Line[], queries: readonly Query[]): Line[] {
  if (queries.length < 2) return lines;
  const queryOf = ({ key }: Line) => key.slice(0, key.indexOf(' '));
  const named = new Map<string, Set<string>>();
  const sizes = new Map<string, number>();
  for (const line of lines) {
    const query = queryOf(line);
    named.set(line.name, (named.get(line.name) ?? new Set()).add(query));
    sizes.set(query, (sizes.get(query) ?? 0) + 1);
  }
  return lines.map((line) => {
    const query = queries[Number(queryOf(line))];
    if (query === undefined || query.legend != null) return line;
    if (sizes.get(queryOf(line)) === 1) return { ...line, name: query.expr };
    return named.get(line.name)?.size === 1 ? line : { ...line, name: `${query.expr} · ${line.name}` };
  });
}

/** Makes the names of different series unique by numbering repetitions. */
function uniqueNames(lines: Line[]): Line[] {
  const seen = new Map<string, number>();
  return lines.map((line) => {
    const before = seen.get(line.name) ?? 0;
    seen.set(line.name, before + 1);
    return before === 0 ? line : { ...line, name: `${line.name} (${before + 1})` };
  });
}

/**
 * The palette index of each name: the one that it already has in any chart of the page, unless another line
 * of this chart uses it. If there are more names than colours, colours repeat.
 */
export function colorsOf(names: readonly string[], known: Map<string, number>, size: number): number[] {
  const taken = new Set<number>();
  const colors = names.map((name) => {
    const before = known.get(name);
    if (before === undefined || taken.has(before)) return null;
    taken.add(before);
    return before;
  });
  return colors.map((color, at) => {
    if (color !== null) return color;
    let next = 0;
    while (next < size && taken.has(next)) next += 1;
    const chosen = next < size ? next : at % size;
    taken.add(chosen);
    const name = names[at] ?? '';
    if (!known.has(name)) known.set(name, chosen);
    return chosen;
  });
}

/**
 * Stacks lines: each value becomes the sum of the values up to and including its line. A time at which no
 * line has a value stays a gap.
 */
export function stackLines(lines: readonly Line[]): (number | null)[][] {
  const sums: (number | null)[] = [];
  return lines.map(({ values }) =>
    values.map((value, at) => {
      const below = sums[at] ?? null;
      const sum = value === null ? below : (below ?? 0) + value;
      const any = sum ?? (lines.some((line) => typeof line.values[at] === 'number') ? 0 : null);
      sums[at] = any;
      return any;
    }),
  );
}

/** The lines of a stack that are non-zero at some time. A state that never occurs needs no line. */
export const occurring = (lines: readonly Line[]): Line[] =>
  lines.filter(({ values }) => values.some((value) => value !== null && value !== 0));

export interface Figures {
  last: number | null;
  least: number | null;
  mean: number | null;
  most: number | null;
}

/** The last known value, and the minimum, maximum and mean of the known ones. */
export function figures(values: readonly (number | null)[]): Figures {
  const known = values.filter((value): value is number => value !== null);
  if (known.length === 0) return { last: null, least: null, mean: null, most: null };
  let least = Number.POSITIVE_INFINITY;
  let most = Number.NEGATIVE_INFINITY;
  let sum = 0;
  for (const value of known) {
    least = Math.min(least, value);
    most = Math.max(most, value);
    sum += value;
  }
  return { last: known[known.length - 1] ?? null, least, mean: sum / known.length, most };
}

/** The index after the latest point of any line, i.e. the end of the measurements. */
export function endOf(lines: readonly { values: readonly (number | null)[] }[]): number {
  return Math.max(0, ...lines.map(({ values }) => values.findLastIndex((value) => value !== null) + 1));
}

/** The last value before `end`; null if the line ended more than two points earlier. */
export function latest(values: readonly (number | null)[], end = values.length): number | null {
  for (let back = end - 1; back >= Math.max(0, end - 3); back -= 1) {
    const value = values[back];
    if (value != null) return value;
  }
  return null;
}

/** Indexes of points with a gap on both sides, which a line would not show. */
export function isolatedPoints(values: ArrayLike<number | null | undefined>): number[] {
  const found: number[] = [];
  for (let at = 0; at < values.length; at += 1) {
    if (values[at] != null && values[at - 1] == null && values[at + 1] == null) found.push(at);
  }
  return found;
}

/** A row per time, a column per line; times in ISO 8601. */
export function csv({ times, lines }: Pick<Drawn, 'times' | 'lines'>): string {
  const quoted = (text: string) => {
    // Spreadsheets evaluate strings that start like a formula.
    const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  const head = ['time', ...lines.map((line) => quoted(line.name))].join(',');
  const rows = times.map((time, at) =>
    [new Date(time).toISOString(), ...lines.map((line) => line.values[at] ?? '')].join(','),
  );
  return `${[head, ...rows].join('\n')}\n`;
}
