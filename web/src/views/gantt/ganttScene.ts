/** The content of the Gantt chart and its layout. */

import type { GanttAnswer, PathLink } from '../../api/schema';
import type { SeverityTone } from '../../ui/alerts/severity';
import type { Size } from '../../ui/canvas';
import type { Span } from '../shared/span';
import type { Layout, LayoutRow } from './ganttLayout';
import type { Profile } from './ganttProfile';

export const AXIS = 24;
export const PATH_ROW = 22;

export interface Arrow {
  from: number;
  to: number;
  kind: 'parent' | 'data';
  /** When the argument arrived, in ns after `origin_ns`, unless it was there from the start. */
  at?: number;
}

export interface Scene {
  data: GanttAnswer;
  /** Whether colours show the peak memory instead of the function. */
  byMemory: boolean;
  /** Added to times of the data to get times of the window. */
  shift: number;
  window: Span;
  /** The time of the window that is labelled 0. */
  zero: number;
  layout: Layout;
  scroll: number;
  left: number;
  top: number;
  /** The labels of a row; `tone` is the severity of its finding. */
  labels: (row: LayoutRow) => { text: string; detail: string; tone?: SeverityTone } | undefined;
  /** How many attempts of a lane, or of its node, ran at once. */
  profile: (lane: number) => Profile;
  nodeProfile: (lane: number) => Profile | null;
  barsOf: (lane: number) => readonly number[];
  selected: number;
  hovered: number;
  /** The row under the pointer, if there is one. */
  hoveredRow: LayoutRow | null;
  /** The index of the detail of each bar that has one. */
  detail: Map<number, number>;
  /** The blocked periods of each bar. */
  blocked: Map<number, number[]>;
  /** The bars of attempts that wait for a debugger. */
  paused: ReadonlySet<number>;
  path: { links: PathLink[]; shift: number; bars: Set<number>; label: string } | null;
  arrows: Arrow[];
  /** A predicate for names that match the search; null without a search. */
  matches: ((name: string) => boolean) | null;
}

/** The x coordinate of a time in the window. */
export function xOf(scene: Pick<Scene, 'window' | 'left'>, size: Size, ns: number): number {
  const { begin, end } = scene.window;
  return scene.left + ((ns - begin) / (end - begin)) * (size.width - scene.left);
}

/** The y coordinate of a row on the canvas. */
export function yOf(
  scene: Pick<Scene, 'layout' | 'top' | 'scroll'>,
  row: Pick<LayoutRow, 'top' | 'pinned'>,
): number {
  return row.pinned ? scene.top + row.top : scene.top + scene.layout.pinnedHeight + row.top - scene.scroll;
}

/** The vertical section of the canvas that shows the pinned lanes or, if `pinned` is false, the others. */
export function sectionOf(
  scene: Pick<Scene, 'layout' | 'top'>,
  size: Size,
  pinned: boolean,
): { from: number; to: number } {
  const border = scene.top + scene.layout.pinnedHeight;
  return pinned ? { from: scene.top, to: border } : { from: border, to: size.height };
}

/** Where the bars begin, to the right of the lanes' names, on a canvas of the given width, px. */
export const leftOf = (width: number) => (width < 760 ? 130 : 210);

/** Converts canvas positions to times of the window: `left` is where the bars begin, `perPixel` is in ns. */
export function scaleOf({ begin, end }: Span, { width }: Pick<Size, 'width'>) {
  const left = leftOf(width);
  const perPixel = (end - begin) / Math.max(1, width - left);
  return { left, perPixel, timeAt: (x: number) => begin + (x - left) * perPixel };
}

export type Scale = ReturnType<typeof scaleOf>;
