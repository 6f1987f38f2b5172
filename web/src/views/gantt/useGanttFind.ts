import { useMemo, useState } from 'react';
import type { GanttAnswer } from '../../api/schema';
import { nameMatcher } from './gantt';
import { keyOf } from './ganttLanes';

/** The search hits among the loaded bars, in order of time. */
export interface GanttFind {
  matches: ((name: string) => boolean) | null;
  /** The bars of the hits. */
  bars: readonly number[];
  /** The index of the current hit from 0, or -1 if there is none; its bar; and the number of steps so far. */
  at: number;
  bar: number;
  turn: number;
  next: (back: boolean) => void;
  /** Makes the hit with this index the current one. */
  go: (at: number) => void;
}

export function useGanttFind(data: GanttAnswer | undefined, text: string): GanttFind {
  const matches = useMemo(() => nameMatcher(text), [text]);
  const [current, setCurrent] = useState<{ text: string; key: string; turn: number } | null>(null);
  const hits = useMemo(() => {
    if (data === undefined || matches === null) return [];
    const { bars, names } = data;
    const found = new Set(names.flatMap((name, at) => (matches(name) ? [at] : [])));
    return bars.name
      .flatMap((name, bar) => (found.has(name) ? [bar] : []))
      .sort((a, b) => (bars.begin[a] as number) - (bars.begin[b] as number));
  }, [data, matches]);
  const keyAt = (bar: number) => keyOf(data?.bars.task_id[bar] ?? '', data?.bars.attempt[bar] ?? 0);
  const at = current?.text === text ? hits.findIndex((bar) => keyAt(bar) === current.key) : -1;
  const go = (to: number) =>
    setCurrent({ text, key: keyAt(hits[to] as number), turn: (current?.turn ?? 0) + 1 });
  const next = (back: boolean) => {
    if (hits.length === 0) return;
    const from = at < 0 && back ? 0 : at;
    go((from + (back ? -1 : 1) + hits.length) % hits.length);
  };
  return { matches, bars: hits, at, bar: hits[at] ?? -1, turn: current?.turn ?? 0, next, go };
}
