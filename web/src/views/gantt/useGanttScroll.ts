import { type Dispatch, type SetStateAction, useEffect } from 'react';
import type { Size } from '../../ui/canvas';
import { lanesBetween } from './ganttLayout';
import type { GanttModel } from './useGanttModel';

/** The scroll position of the lanes, clamped to their height. `onLanes` is called with the visible lanes. */
export function useGanttScroll(chart: {
  model: GanttModel;
  size: Size;
  scroll: number;
  setScroll: Dispatch<SetStateAction<number>>;
  onLanes: (first: number, last: number) => void;
}) {
  const { model, size, scroll, setScroll, onLanes } = chart;
  const { layout } = model;
  const visibleHeight = size.height - model.top - layout.pinnedHeight;
  const lowest = Math.max(0, layout.height + 8 - visibleHeight);
  const scrolled = Math.min(scroll, lowest);
  useEffect(() => {
    if (scrolled !== scroll) setScroll(scrolled);
    const [first, last] = lanesBetween(layout.rows, scrolled, scrolled + Math.max(0, visibleHeight));
    const pinned = layout.pinned.map((row) => row.lane);
    onLanes(Math.min(first, ...pinned), Math.max(last, ...pinned));
  }, [scrolled, scroll, layout, visibleHeight, setScroll, onLanes]);
  const within = (to: number) => Math.min(lowest, Math.max(0, to));
  return {
    /** Height of the area that scrolls, px. */
    visibleHeight,
    scrollTo: (to: number) => setScroll(within(to)),
    /** Returns false if there is nothing more in this direction. */
    scrollBy: (by: number): boolean => {
      setScroll((before) => within(before + by));
      return within(scroll + by) !== scroll;
    },
  };
}
