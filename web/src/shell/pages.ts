import { type ComponentType, createContext, useContext } from 'react';
import type { Summary } from '../api/types';
import type { View } from '../base/url';

export interface PageProps {
  /** Undefined while loading. */
  summary: Summary | undefined;
}

/** The pages that the shell renders. The entry point passes them, so that the shell does not import pages. */
export interface Pages {
  Sessions: ComponentType;
  views: Record<View, ComponentType<PageProps>>;
  /** Loads the code of a view that is likely to be opened next. */
  prefetch: (view: View) => void;
  /** The panel of a task, shown on top of any page. */
  TaskDrawer: ComponentType<{ taskId: string }>;
}

const Context = createContext<Pages | null>(null);
export const PagesProvider = Context.Provider;

export function usePages(): Pages {
  const pages = useContext(Context);
  if (pages === null) throw new Error('no pages were given to the app');
  return pages;
}
