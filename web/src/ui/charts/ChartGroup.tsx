import { createContext, type ReactNode, useContext, useId, useMemo } from 'react';
import css from './ChartGroup.module.css';
import { RangePicker } from './RangePicker';

interface Group {
  /** Charts with the same key share their crosshair. */
  syncKey: string;
  /** The colour that a name got in any of the charts. */
  colors: Map<string, number>;
}

const Context = createContext<Group | null>(null);

/** Of the charts around; a chart that stands alone is a group of its own. */
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
 * Around the charts of a page: one crosshair, one range of time (in the URL), the same name in the same
 * colour. It shows the range picker, with what a page wants to have beside it; `picker={false}` leaves it out. `sticky` keeps it in sight.
 */
export function ChartGroup(props: {
  children: ReactNode;
  picker?: boolean;
  beside?: ReactNode;
  sticky?: boolean;
}) {
  const group = useOwnGroup();
  return (
    <Context.Provider value={group}>
      {props.picker !== false && (
        <div className={css.bar} data-sticky={props.sticky || undefined}>
          {props.beside}
          <RangePicker />
        </div>
      )}
      {props.children}
    </Context.Provider>
  );
}

/** Charts side by side: as many in a row as have room in the window; `narrow`, in a part of it. */
export function ChartGrid({ children, narrow = false }: { children: ReactNode; narrow?: boolean }) {
  return (
    <div className={css.grid} data-narrow={narrow || undefined}>
      {children}
    </div>
  );
}
