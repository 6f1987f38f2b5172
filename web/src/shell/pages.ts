import { type ComponentType, createContext, useContext } from 'react';
import type { Summary } from '../api/types';
import type { View } from '../base/url';

export interface PageProps {
  /** Undefined while it is on its way. */
  summary: Summary | undefined;
}

/** What the shell shows; the entry names them, for the shell imports no page. */
export interface Pages {
  Sessions: ComponentType;
  views: Record<View, ComponentType<PageProps>>;
  /** Fetches the code of a view that is likely to come next. */
  prefetch: (view: View) => void;
  /** The panel of a task, over any page. */
  TaskDrawer: ComponentType<{ taskId: string }>;
}

const Context = createContext<Pages | null>(null);
export const PagesProvider = Context.Provider;

export function usePages(): Pages {
  const pages = useContext(Context);
  if (pages === null) throw new Error('no pages were given to the app');
  return pages;
}
