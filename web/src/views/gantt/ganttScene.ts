/** What is drawn in the Gantt chart, and where. */

import type { PathLink } from '../../api/criticalPath';
import type { Size } from '../../ui/canvas';
import type { Span } from '../shared/span';
import type { Gantt } from './ganttData';

export const AXIS = 24;
export const PATH_ROW = 22;

export interface Arrow {
  from: number;
  to: number;
  kind: 'parent' | 'data';
  /** When it came, if not at the begin: ns after `origin_ns`. */
  at?: number;
}

export interface Scene {
  data: Gantt;
  /** What is added to times of the data to get times of the window. */
  shift: number;
  window: Span;
  /** Time 0 of the labels. */
  zero: number;
  tops: number[];
  scroll: number;
  left: number;
  top: number;
  labels: (lane: number) => { text: string; beside: string } | undefined;
  selected: number;
  hovered: number;
  /** The detail of each bar that has one. */
  detail: Map<number, number>;
  /** The blocked stretches of each bar. */
  blocked: Map<number, number[]>;
  path: { links: PathLink[]; shift: number; bars: Set<number>; label: string } | null;
  arrows: Arrow[];
  /** Which names were searched for, or null. */
  matches: ((name: string) => boolean) | null;
}

/** Where a time of the window is. */
export function xOf(scene: Pick<Scene, 'window' | 'left'>, size: Size, ns: number): number {
  const { begin, end } = scene.window;
  return scene.left + ((ns - begin) / (end - begin)) * (size.width - scene.left);
}

/** Where the bars begin on a canvas so wide: right of the names of the lanes. px. */
export const leftOf = (width: number) => (width < 760 ? 130 : 210);
