import type { FoundGroup, FoundItem } from '../../api/schema';
import { shortId } from '../../base/format';
import { type SessionUrl, toItem, toView, type Url, type View, withSettings } from '../../base/url';

/** An entry of the palette: its label and its target. */
export interface Entry {
  /** Unique among the entries on screen. */
  key: string;
  name: string;
  /** Muted text after the name: an id, a class, an address. */
  detail?: string;
  state?: string | null;
  to: Url;
}

export interface EntryGroup {
  title: string;
  entries: Entry[];
}

/** The page that lists each kind of hit. */
const LISTS: Record<FoundGroup['kind'], View> = {
  function: 'functions',
  task: 'tasks',
  actor: 'actors',
  node: 'nodes',
  worker: 'workers',
  job: 'jobs',
  placement_group: 'placement-groups',
  dataset: 'data',
  serve_application: 'serve',
  train_run: 'train',
  tune_experiment: 'tune',
  tune_trial: 'tune',
  log_file: 'logs',
  metric: 'metrics',
};

/** The page with the hit opened. */
function hitUrl(url: SessionUrl, kind: FoundGroup['kind'], item: FoundItem): SessionUrl {
  const view = LISTS[kind];
  switch (kind) {
    case 'function':
      return toView(url, 'tasks', { func_name: item.id });
    case 'task':
      return { ...toView(url, view, { q: item.id }), task: item.id, attempt: item.attempt ?? undefined };
    case 'log_file':
      return withSettings(toView(url, view), {
        node: item.node_id ?? undefined,
        file: item.id,
        files: 'all',
      });
    case 'metric':
      return withSettings(toView(url, view), { board: 'explore', expr: item.id });
    case 'dataset':
    case 'serve_application':
    case 'train_run':
    case 'tune_experiment':
    case 'tune_trial':
      return { ...toView(url, view), item: item.id };
    default:
      return toItem(url, view, item.id);
  }
}

/**
 * The hits of a kind; those that match by name come before those that match by id. `all` is the label of the
 * link to the full list.
 */
export function hitGroup(
  url: SessionUrl,
  group: FoundGroup,
  text: string,
  title: string,
  all: string,
): EntryGroup {
  const { kind } = group;
  const entries = group.items.map((item): Entry => {
    const isNamed = item.name === item.id;
    const short = isNamed ? '' : shortId(item.id);
    return {
      key: `${kind} ${item.node_id} ${item.id} ${item.attempt}`,
      name: item.name ?? short,
      detail: [item.name === null ? '' : short, item.detail ?? ''].filter((part) => part !== '').join(' · '),
      state: item.state,
      to: hitUrl(url, kind, item),
    };
  });
  const hasMore = group.total > group.items.length;
  // The lists of the other kinds have no search field that a link could fill in.
  const isSearchable = kind !== 'function' && kind !== 'log_file' && kind !== 'metric';
  if (hasMore && isSearchable)
    entries.push({ key: `${kind} all`, name: all, to: toView(url, LISTS[kind], { q: text }) });
  return { title, entries };
}
