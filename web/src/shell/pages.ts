import type { Icon } from '@tabler/icons-react';
import { type ComponentType, createContext, useContext } from 'react';
import type { AlertsTopic, ClusterTopic } from '../api/realtime';
import type { PausedTasks, Summary } from '../api/schema';
import type { View } from '../base/url';

export interface PageProps {
  /** Undefined while loading. */
  summary: Summary | undefined;
}

/** Code that belongs to the first chunk, so a page.ts imports neither React nor the page itself. */
export type PageCode = Partial<
  Record<
    View,
    {
      load: () => Promise<{ default: ComponentType<PageProps> }>;
      /** Sends the requests that the page needs first, while the page's code is loading. */
      prefetch?: (session: string) => void;
    }
  >
>;

/** The pushed topics that numbers in the navigation come from. Undefined while loading. */
export interface Topics {
  cluster: ClusterTopic | undefined;
  alerts: AlertsTopic | undefined;
  paused: PausedTasks | undefined;
}

interface PageLink {
  icon: Icon;
  /** The path of the page's description in the bundled documentation. */
  docs: string;
  /** The number shown in the navigation, and its colour. */
  number?: (topics: Topics) => number | undefined;
  tone?: (topics: Topics) => string;
}

/** How the shell links to pages. */
export type PageLinks = Partial<Record<View, PageLink>>;

/** The pages that the shell renders. The entry point passes them, so that the shell does not import pages. */
export interface Pages {
  Sessions: ComponentType;
  Session: ComponentType;
  Compare: ComponentType;
  Runs: ComponentType;
  views: Record<View, ComponentType<PageProps>>;
  links: Record<View, PageLink>;
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
