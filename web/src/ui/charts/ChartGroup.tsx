import { createContext, type ReactNode, useContext, useId, useMemo } from 'react';
import css from './ChartGroup.module.css';
import { RangePicker } from './RangePicker';

interface Group {
  /** Charts with the same key share their crosshair. */
  syncKey: string;
  /** Colours of names that already occur in a chart of the group. */
  colors: Map<string, number>;
}

const Context = createContext<Group | null>(null);

/** The group of the surrounding charts. A single chart forms its own group. */
export function useChartGroup(): Group {
  const group = useContext(Context);
  const own = useOwnGroup();
  return group ?? own;
}

function useOwnGroup(): Group {
  const syncKey = useId();
  return useMemo(() => ({ syncKey, colors: new Map() }), [syncKey]);
}

/**
 * Wraps the charts of a page so that they share a crosshair, a range of time (in the URL) and the colours of
 * names. It shows the range picker with the page's own controls (`beside`) next to it. `sticky` keeps this
 * bar visible while the page scrolls.
 */
export function ChartGroup(props: { children: ReactNode; beside?: ReactNode; sticky?: boolean }) {
  const group = useOwnGroup();
  return (
    <Context.Provider value={group}>
      <div className={css.bar} data-sticky={props.sticky || undefined}>
        {props.beside}
        <RangePicker />
      </div>
      {props.children}
    </Context.Provider>
  );
}

/** Charts side by side, as many per row as fit into the window or, with `narrow`, into a part of it. */
export function ChartGrid({ children, narrow = false }: { children: ReactNode; narrow?: boolean }) {
  return (
    <div className={css.grid} data-narrow={narrow || undefined}>
      {children}
    </div>
  );
}
