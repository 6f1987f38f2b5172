/** What is drawn in the Gantt chart, and where. */

import type { PathLink } from '../../api/criticalPath';
import type { SeverityTone } from '../../ui/alerts/severity';
import type { Size } from '../../ui/canvas';
import type { Span } from '../shared/span';
import type { Gantt } from './ganttData';
import type { Layout, LayoutRow } from './ganttLayout';
import type { Profile } from './ganttProfile';

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
  layout: Layout;
  scroll: number;
  left: number;
  top: number;
  /** What stands on a row and beside it; `tone` is how grave a finding about it is. */
  labels: (row: LayoutRow) => { text: string; beside: string; tone?: SeverityTone } | undefined;
  /** How many of a lane ran at once, and of the node of a lane. */
  profile: (lane: number) => Profile;
  nodeProfile: (lane: number) => Profile | null;
  barsOf: (lane: number) => readonly number[];
  selected: number;
  hovered: number;
  /** The row under the pointer. */
  hoveredRow: LayoutRow | null;
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

/** Where a row is on the canvas, and between which heights it is seen. */
export function yOf(
  scene: Pick<Scene, 'layout' | 'top' | 'scroll'>,
  row: Pick<LayoutRow, 'top' | 'pinned'>,
): number {
  return row.pinned ? scene.top + row.top : scene.top + scene.layout.pinnedHeight + row.top - scene.scroll;
}

/** The part of the canvas in which the pinned lanes are seen, or the others. */
export function sectionOf(
  scene: Pick<Scene, 'layout' | 'top'>,
  size: Size,
  pinned: boolean,
): { from: number; to: number } {
  const border = scene.top + scene.layout.pinnedHeight;
  return pinned ? { from: scene.top, to: border } : { from: border, to: size.height };
}

/** Where the bars begin on a canvas so wide: right of the names of the lanes. px. */
export const leftOf = (width: number) => (width < 760 ? 130 : 210);

/** From places on a canvas to times of the window: `left` is where the bars begin, `perPixel` ns. */
export function scaleOf({ begin, end }: Span, { width }: Pick<Size, 'width'>) {
  const left = leftOf(width);
  const perPixel = (end - begin) / Math.max(1, width - left);
  return { left, perPixel, timeAt: (x: number) => begin + (x - left) * perPixel };
}

export type Scale = ReturnType<typeof scaleOf>;
