/** The UI state that a link contains: parses it from a URL and formats it as one. */

import { ROOT } from './root';

interface ViewTraits {
  /** The place in the navigation; the view's own if absent. The views of a place are its tabs. */
  place?: 'tasks' | 'execution' | 'cluster';
  /** The view of a library, which is listed only if used. */
  isLibrary?: true;
  /** The view lists entities that Ray reports. */
  isEntity?: true;
  /**
   * The view ignores the range of time, because its content has no start and end or because it has its own
   * range.
   */
  ignoresRange?: true;
  /**
   * Present if library code can be left out. It is either shown until hidden, or collapsed until expanded.
   */
  origin?: 'shown' | 'collapsed';
}

/** The views, in the order of the navigation. Everything else about a view is in the folder of its page. */
const TRAITS = {
  data: { isLibrary: true, ignoresRange: true },
  serve: { isLibrary: true, ignoresRange: true },
  train: { isLibrary: true, ignoresRange: true },
  tune: { isLibrary: true, ignoresRange: true },
  overview: {},
  insights: { ignoresRange: true, origin: 'shown' },
  tasks: { place: 'tasks' },
  functions: { place: 'tasks', origin: 'shown' },
  failures: { place: 'tasks' },
  debugger: { place: 'tasks', ignoresRange: true },
  gantt: { place: 'execution', origin: 'shown' },
  flame: { place: 'execution', origin: 'collapsed' },
  stack: { place: 'execution' },
  logical: { place: 'execution', origin: 'collapsed' },
  physical: { place: 'execution' },
  jobs: { isEntity: true },
  nodes: { place: 'cluster', isEntity: true },
  workers: { place: 'cluster', isEntity: true },
  actors: { place: 'cluster', isEntity: true },
  'placement-groups': { place: 'cluster', isEntity: true, ignoresRange: true },
  memory: { ignoresRange: true },
  logs: {},
  events: {},
  metrics: {},
  alerts: { ignoresRange: true },
  sql: { ignoresRange: true },
} as const satisfies Record<string, ViewTraits>;
export type View = keyof typeof TRAITS;
export const VIEWS = Object.keys(TRAITS) as View[];

type ViewWith<Trait> = { [V in View]: (typeof TRAITS)[V] extends Trait ? V : never }[View];
/** The views of an execution share their filters, selection and search. */
export type FlowView = ViewWith<{ place: 'execution' }>;
export type LibraryView = ViewWith<{ isLibrary: true }>;
export type EntityView = ViewWith<{ isEntity: true }>;

const traits = (view: View): ViewTraits => TRAITS[view];
export type Place = View | NonNullable<ViewTraits['place']>;
export const placeOf = (view: View): Place => traits(view).place ?? view;
export const PLACES = [...new Set(VIEWS.map(placeOf))];
export const viewsOf = (place: Place) => VIEWS.filter((view) => placeOf(view) === place);
export const isFlow = (view: View): view is FlowView => traits(view).place === 'execution';
export const isLibrary = (view: View): view is LibraryView => traits(view).isLibrary === true;
export const FLOW_VIEWS = VIEWS.filter(isFlow);
export const LIBRARY_VIEWS = VIEWS.filter(isLibrary);

/** Filters are the query parameters of the API's list endpoints and have the same names. */
export const FILTERS = [
  'q',
  'state',
  'func_name',
  'name',
  'class_name',
  'type',
  'node_id',
  'job_id',
  'error_type',
  'outcome',
  'actor_id',
  'worker_id',
  'caller_task_id',
  'placement_group_id',
  'annotation',
  'severity',
  'kind',
  'since_ns',
  'until_ns',
] as const;
export type FilterName = (typeof FILTERS)[number];
export type Filters = Partial<Record<FilterName, string>>;
export const NO_FILTERS: Filters = {};

/** The filters of tasks. The others apply only to entities, failures, and events. */
export const taskFilters = ({ class_name, outcome, severity, kind, ...others }: Filters) => others;

/** Settings of the execution views, one query parameter each. */
const SETTINGS = [
  'by',
  'weight',
  'order',
  'size',
  'color',
  'span',
  'frame',
  'from',
  'to',
  'at',
  'path',
  'baseline',
  'lines',
  'find',
  'pin',
  'minor',
  'node',
  'worker',
  'expand',
  'fold',
  'unfold',
  'hide',
  'only',
  'awaited',
  'files',
  'range',
  'vs',
  'levels',
  'file',
  'line',
  'level',
  'search',
  'board',
  'expr',
  'mode',
  'tab',
  'internal',
  'sql',
  'finding',
  'profile',
  'changes',
  'form',
] as const;
export type SettingName = (typeof SETTINGS)[number];
export type Settings = Partial<Record<SettingName, string>>;

/** Filters of the list of sessions. */
const SESSION_FILTERS = ['q', 'outcome'] as const;

/** The list of all sessions. */
export interface SessionsUrl {
  page: 'sessions';
  filters: Partial<Record<(typeof SESSION_FILTERS)[number], string>>;
  sort?: string;
  lang?: string;
}

export interface SessionUrl {
  page: 'session';
  session: string;
  view: View;
  filters: Filters;
  /** The order: FIELD, or -FIELD for descending; the view's default order if absent. */
  sort?: string;
  /** The task in the drawer, and which of its attempts (the last one if absent). */
  task?: string;
  attempt?: number;
  /** The entity in the drawer, or the job whose page is shown. */
  item?: string;
  /** Whether the drawer has full width. */
  wide?: boolean;
  settings?: Settings;
  lang?: string;
}

/** Maximum number of runs on each side of a comparison. */
export const MAX_COMPARED = 20;

const COMPARE_PARAMS = ['a', 'b', 'margin', 'skip_first'] as const;

/** A run as an address and the API name it. */
export const addressOf = (run: { session: string; job_id: string }) => `${run.session}/${run.job_id}`;

/** Each side is a list of runs, separated by commas: `SESSION` for its longest job, or `SESSION/JOB`. */
export interface CompareUrl {
  page: 'compare';
  a: string;
  b: string;
  /** The change of the duration that matters, as a share; the server's default if absent. */
  margin?: string;
  /** The number of warm-up runs that each side leaves out. */
  skip_first?: string;
  lang?: string;
}

/** Filters of the list of runs, with the names of the API's parameters. `function` selects the trend. */
export const RUN_FILTERS = [
  'q',
  'script',
  'variant',
  'function',
  'tag',
  'outcome',
  'verdict',
  'cluster',
] as const;
export type RunFilters = Partial<Record<(typeof RUN_FILTERS)[number], string>>;

/** The runs of all sessions. With a script, also its trend, or that of one of its functions. */
export interface RunsUrl {
  page: 'runs';
  filters: RunFilters;
  sort?: string;
  lang?: string;
}

interface UnknownUrl {
  page: 'unknown';
  lang?: string;
}

/** A page with filters and an order. */
export type ListUrl = SessionsUrl | SessionUrl | RunsUrl;
/** A filter of any page. */
export type AnyFilter = FilterName | keyof RunFilters;
export type Url = ListUrl | CompareUrl | UnknownUrl;

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // a stray % typed by the user
  }
}

export function parseUrl(pathname: string, search: string): Url {
  const path = pathname.startsWith(ROOT) ? pathname.slice(ROOT.length) : pathname;
  const parts = path.split('/').filter((part) => part !== '');
  const query = new URLSearchParams(search);
  const of = (name: string) => query.get(name) || undefined;
  const picked = <T extends string>(names: readonly T[]) =>
    Object.fromEntries(
      names.map((name) => [name, of(name)]).filter(([, value]) => value !== undefined),
    ) as Partial<Record<T, string>>;
  const [lang, sort] = [of('lang'), of('sort')];
  if (parts.length === 0 || path === '/sessions')
    return { page: 'sessions', filters: picked(SESSION_FILTERS), sort, lang };
  if (path === '/compare') {
    const [a = '', b = '', margin, skip_first] = COMPARE_PARAMS.map(of);
    return { page: 'compare', a, b, margin, skip_first, lang };
  }
  if (path === '/runs') return { page: 'runs', filters: picked(RUN_FILTERS), sort, lang };
  const [head, session, view = 'tasks', item] = parts;
  const isKnown = item === undefined ? parts.length <= 3 : view === 'jobs' && parts.length === 4;
  if (head !== 's' || session === undefined || !isKnown || !isView(view)) return { page: 'unknown', lang };
  const settings: Settings = picked(SETTINGS);
  // Older links use `only` for these two settings.
  if (view === 'stack' && settings.only === '1') [settings.awaited, settings.only] = ['1', undefined];
  if (view === 'logs' && settings.only === 'all') [settings.files, settings.only] = ['all', undefined];
  const attempt = query.get('attempt');
  return {
    page: 'session',
    session: decode(session),
    view,
    filters: picked(FILTERS),
    sort,
    task: of('task'),
    attempt: attempt !== null && /^\d+$/.test(attempt) ? Number(attempt) : undefined,
    item: item === undefined ? of('item') : decode(item),
    wide: query.get('wide') === '1' || undefined,
    ...(Object.keys(settings).length > 0 && { settings }),
    lang,
  };
}

function isView(name: string): name is View {
  return Object.hasOwn(TRAITS, name);
}

/** Parses a path with its query. */
export function parseAddress(address: string): Url {
  const cut = address.indexOf('?');
  return cut < 0 ? parseUrl(address, '') : parseUrl(address.slice(0, cut), address.slice(cut));
}

export function formatUrl(url: Url): string {
  const query = new URLSearchParams();
  const add = <T extends string>(names: readonly T[], values: Partial<Record<T, string>> = {}) => {
    for (const name of names) if (values[name]) query.set(name, values[name]);
  };
  let path = '/';
  if (url.page === 'sessions') {
    add(SESSION_FILTERS, url.filters);
    add(['sort'], url);
  }
  if (url.page === 'session') {
    path = `/s/${encodeURIComponent(url.session)}${url.view === 'tasks' ? '' : `/${url.view}`}`;
    add(FILTERS, url.filters);
    add(['sort', 'task'], url);
    if (url.attempt !== undefined) query.set('attempt', String(url.attempt));
    // A job has its own page; other entities open in a drawer next to their list.
    if (url.item && url.view === 'jobs') path += `/${encodeURIComponent(url.item)}`;
    else if (url.item) query.set('item', url.item);
    if (url.wide) query.set('wide', '1');
    add(SETTINGS, url.settings);
  }
  if (url.page === 'compare') {
    path = '/compare';
    add(COMPARE_PARAMS, url);
  }
  if (url.page === 'runs') {
    path = '/runs';
    add(RUN_FILTERS, url.filters);
    add(['sort'], url);
  }
  if (url.lang) query.set('lang', url.lang);
  const search = query.toString();
  return `${ROOT}${path}${search && `?${search}`}`;
}

/**
 * The range of time that applies to every page of a session, in ns since the epoch; null if there is none.
 */
export function rangeIn({ since_ns, until_ns }: Filters): { from: string; to: string } | null {
  const isRange = [since_ns, until_ns].every((text) => text !== undefined && /^\d{1,19}$/.test(text));
  if (!isRange || since_ns === undefined || until_ns === undefined) return null;
  return BigInt(since_ns) < BigInt(until_ns) ? { from: since_ns, to: until_ns } : null;
}

/** Whether a page applies the range of time. */
export const appliesRange = (view: View) => !traits(view).ignoresRange;

/** The same page with a range of time, or without one if `range` is null. */
export function withRange(url: SessionUrl, range: { from: string; to: string } | null): SessionUrl {
  const { since_ns: _, until_ns: __, ...filters } = url.filters;
  return {
    ...url,
    filters: range === null ? filters : { ...filters, since_ns: range.from, until_ns: range.to },
  };
}

/** `mine` if functions of libraries are left out, otherwise undefined. */
export const onlyMineOf = ({ view, settings }: SessionUrl): 'mine' | undefined =>
  settings?.only === 'mine' || (settings?.only === undefined && traits(view).origin === 'collapsed')
    ? 'mine'
    : undefined;

/**
 * Another view with the same session, language, range of time and code origin, but no other filters and
 * nothing open.
 */
export function toView(url: SessionUrl, view: View, filters: Filters = {}): SessionUrl {
  const range = rangeIn(url.filters);
  const kept: Filters = range === null ? {} : { since_ns: range.from, until_ns: range.to };
  // Older links to logs use `only` for another setting.
  const only = view === 'logs' ? undefined : url.settings?.only;
  return {
    page: 'session',
    session: url.session,
    view,
    filters: { ...kept, ...filters },
    ...(only && { settings: { only } }),
    lang: url.lang,
  };
}

/** Another execution view with the same filters, selection, search and code origin. */
export function toFlow(url: SessionUrl, view: View): SessionUrl {
  const { filters, task, attempt, lang } = url;
  const { find, only } = url.settings ?? {};
  return {
    page: 'session',
    session: url.session,
    view,
    filters,
    task,
    attempt,
    ...((find || only) && { settings: { ...(find && { find }), ...(only && { only }) } }),
    lang,
  };
}

/** Another view as the navigation and its tabs open it. */
export const toTab = (url: SessionUrl, view: View): SessionUrl =>
  isFlow(view) && isFlow(url.view) ? toFlow(url, view) : toView(url, view);

/** Sets settings of a view, or removes those that are undefined. */
export function withSettings(url: SessionUrl, changed: Settings): SessionUrl {
  const settings = { ...url.settings };
  for (const name of SETTINGS) {
    if (!(name in changed)) continue;
    const value = changed[name];
    if (value) settings[name] = value;
    else delete settings[name];
  }
  return { ...url, settings: Object.keys(settings).length > 0 ? settings : undefined };
}

/** A page with its form open: that of *Submit a job*, or of *Notify me*. */
export const toForm = (url: SessionUrl, view: 'jobs' | 'alerts'): SessionUrl =>
  withSettings(toView(url, view), { form: '1' });

export function withFilter<U extends ListUrl>(url: U, name: AnyFilter, value: string | undefined): U {
  const filters: Partial<Record<AnyFilter, string>> = { ...url.filters };
  if (value) filters[name] = value;
  else delete filters[name];
  return { ...url, filters };
}

/** The attempts of a function, slowest first. */
export function slowestOf(
  url: SessionUrl,
  row: { func_name: string | null; type: string | null },
): SessionUrl {
  const filters: Filters = {};
  if (row.func_name) filters.func_name = row.func_name;
  if (row.type) filters.type = row.type;
  return { ...toView(url, 'tasks', filters), sort: '-duration_ns' };
}

/**
 * The page of a job. For any other entity, the list filtered by its id, so that it is found however long the
 * list is.
 */
export function toItem(url: SessionUrl, view: View, id: string): SessionUrl {
  if (view === 'jobs') return { ...toView(url, view), item: id };
  return { ...toView(url, view, { q: id }), item: id };
}

/** A profile, beside the alerts that took it. */
export const toProfile = (url: SessionUrl, profile: string): SessionUrl =>
  withSettings(toView(url, 'alerts'), { profile });

/** The view that lists an entity, by the name of its id in the API. */
export const LIST_BY_ID_FIELD: Record<string, EntityView> = {
  actor_id: 'actors',
  creator_actor_id: 'actors',
  worker_id: 'workers',
  node_id: 'nodes',
  driver_node_id: 'nodes',
  job_id: 'jobs',
  placement_group_id: 'placement-groups',
};

/** The value of the state filter with one state toggled. */
export function toggleState(filter: string | undefined, state: string): string | undefined {
  const states = new Set((filter ?? '').split(',').filter((name) => name !== ''));
  if (!states.delete(state)) states.add(state);
  return states.size > 0 ? [...states].join(',') : undefined;
}
