import type { GpuShare } from '../api/schema';
import { bytes, duration, fullTime, shortId } from '../base/format';
import { CopyId } from './CopyId';
import { Dash } from './Dash';
import { Duration } from './Duration';
import { Gpus } from './Gpus';
import { ItemState } from './ItemState';
import { Time } from './Time';
import pairs from './theme/pairs.module.css';
import words from './theme/words.module.css';

/** An API value, formatted according to its name. */
export function Value({ name, value }: { name: string; value: unknown }) {
  if (value === null || value === undefined || value === '') return <Dash />;
  if (name === 'state') return <ItemState state={String(value)} />;
  if (typeof value === 'number') {
    if (name === 'duration_ns' || name === 'waiting_ns' || name === 'total_ns')
      return <Duration ns={value} />;
    if (name.endsWith('_ns')) return <Time ns={value} full />;
    if (name.endsWith('_bytes')) return <span className={words.num}>{bytes(value)}</span>;
    return <span className={words.num}>{name.endsWith('_percent') ? `${value}%` : value}</span>;
  }
  if (typeof value === 'boolean') return <span className={words.mono}>{String(value)}</span>;
  if (typeof value === 'string') {
    if (name.endsWith('_id') && /^[0-9a-f]{8,}$/i.test(value)) return <CopyId id={value} full />;
    if (typeof parse(value) !== 'string') return <Json value={value} />;
    return <span className={words.lines}>{value.trim()}</span>;
  }
  if (name === 'gpus') return <Gpus gpus={value as GpuShare[]} />;
  return <Json value={value} />;
}

/** A structured value: a line per key if it is flat, otherwise indented JSON. */
export function Json({ value }: { value: unknown }) {
  const parsed = typeof value === 'string' ? parse(value) : value;
  if (isEmpty(parsed)) return <Dash />;
  if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) {
    const entries = Object.entries(parsed);
    if (entries.every(([, item]) => typeof item !== 'object' || item === null)) {
      return (
        <span className={pairs.pairs}>
          {entries.map(([name, item]) => (
            <span key={name} className={pairs.pair}>
              <span className={words.dim}>{typeof item === 'number' ? name.replace(UNIT, '') : name}</span>{' '}
              {measured(name, item)}
            </span>
          ))}
        </span>
      );
    }
  }
  return (
    <pre className={words.pre}>{typeof parsed === 'string' ? parsed : JSON.stringify(parsed, null, 2)}</pre>
  );
}

/** The unit of time at the end of one of Ray's names. */
const UNIT = /_(ns|us|ms)$/;

/** A value with its unit, if Ray's name for it contains the unit. */
function measured(name: string, value: unknown): string {
  if (typeof value !== 'number') return String(value);
  if (isMemory(name, value)) return bytes(value);
  const unit = UNIT.exec(name)?.[1];
  if (unit === undefined) return String(value);
  const ns = value * { ns: 1, us: 1e3, ms: 1e6 }[unit as 'ns' | 'us' | 'ms'];
  return ns > YEAR_NS ? fullTime(ns) : duration(ns);
}

/** Larger values are not durations but times since 1970. */
const YEAR_NS = 365 * 86_400e9;

/**
 * A structured value or a JSON string in one line, short enough for a cell: `CPU 16, GPU 1, memory 64.0 GiB`.
 */
export function oneLine(value: unknown, nodeName: (id: string) => string = shortId): string {
  const parsed = typeof value === 'string' ? parse(value) : value;
  if (typeof parsed !== 'object' || parsed === null) return String(value);
  if (Array.isArray(parsed)) return parsed.map((item) => oneLine(item, nodeName)).join(' | ');
  if ('resources' in parsed) return bundle(parsed as Bundle, nodeName);
  return Object.entries(parsed)
    .map(([name, item]) => `${name} ${isMemory(name, item) ? bytes(item as number) : oneLine(item)}`)
    .join(', ');
}

type Bundle = { resources: unknown; node_id?: unknown };

/** The resources of a placement group's bundle and its node: `CPU 1 @ b06d0986…`. */
const bundle = ({ resources, node_id }: Bundle, nodeName: (id: string) => string) =>
  typeof node_id === 'string' && node_id !== ''
    ? `${oneLine(resources)} @ ${nodeName(node_id)}`
    : oneLine(resources);

/** Whether the value is an amount of memory, which Ray measures in bytes. */
const isMemory = (name: string, value: unknown) =>
  typeof value === 'number' && /^(memory|object_store_memory)$/.test(name);

/** Parses a JSON object or array. Any other string is returned unchanged. */
export function parse(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

export function isEmpty(value: unknown): boolean {
  if (value === null || value === undefined || value === '') return true;
  if (typeof value === 'string') return value === '{}' || value === '[]' || value === 'null';
  return typeof value === 'object' && Object.keys(value).length === 0;
}
