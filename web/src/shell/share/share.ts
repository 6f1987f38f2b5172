/** Converts a page to a permanent link, a CLI command, or Python code. */

import { rangeIn, type SessionUrl, withSettings } from '../../base/url';
import { type Bounds, type Choice, nanos, rangeOf, withChoice } from '../../ui/charts/timeRange';
import commands from './commands.json';

/** The page pinned to the current time, so that a link to a live session keeps showing the same data. */
export function pinned(url: SessionUrl, choice: Choice, bounds: Bounds, now: number): SessionUrl {
  if (!bounds.live || rangeIn(url.filters) !== null) return url;
  if (url.view === 'physical' || url.view === 'stack')
    return url.settings?.at ? url : withSettings(url, { at: nanos(now) });
  const hasCharts = url.view === 'overview' || url.view === 'metrics' || url.view === 'nodes';
  return withChoice(url, { kind: 'fixed', ...rangeOf(hasCharts ? choice : { kind: 'all' }, bounds, now) });
}

/**
 * For each list: its filters and order, named as in the Python client, with the option of the CLI command for
 * each; null if the command has no such option.
 */
const COMMANDS: Record<string, Record<string, string | null>> = commands;
/** The same for logs, whose filters belong to several methods of the client. */
const LOGS: Record<string, string | null> = {
  node: '--node',
  file: '--file',
  search: '--search',
  regex: '--regex',
  level: '--level',
  since_ns: null,
  until_ns: null,
};

type ListFilters = [name: string, value: string, option: string | null][];

/** The filters and order of a page's list; null if the client has no such list. */
function listFilters(url: SessionUrl): ListFilters | null {
  const options = url.view === 'logs' ? LOGS : COMMANDS[url.view];
  if (options === undefined || (url.view === 'jobs' && url.item !== undefined)) return null;
  const { internal, mode, ...settings } = url.settings ?? {};
  const entries: Record<string, string | undefined> = {
    ...url.filters,
    ...(url.view === 'logs' && { ...settings, regex: mode === 'regex' ? 'true' : undefined }),
    sort: url.sort,
    internal: internal === 'show' ? 'true' : undefined,
  };
  return Object.entries(options).flatMap(([name, option]) => {
    const value = entries[name];
    return value ? [[name, value, option] as ListFilters[number]] : [];
  });
}

const FLAGS = new Set(['internal', 'regex']);

/** A word of a shell's command. */
export const forShell = (text: string) =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** The command that prints the same list, and the filters for which it has no option. */
export function asCommand(url: SessionUrl, server: string): { text: string; missing: string[] } | null {
  const entries = listFilters(url);
  if (entries === null) return null;
  const words = entries.flatMap(([name, value, option]) => {
    if (option === null) return [];
    if (FLAGS.has(name)) return [option];
    // A value that starts with a dash would be parsed as an option.
    return value.startsWith('-') ? [`${option}=${forShell(value)}`] : [option, forShell(value)];
  });
  const text = ['rayscope', url.view, ...words, '--session', forShell(url.session), '--server', server];
  return {
    text: text.join(' '),
    missing: entries.filter(([, , option]) => option === null).map(([name]) => name),
  };
}

/** The same list with the Python client. */
export function asPython(url: SessionUrl, server: string): string | null {
  const entries = listFilters(url);
  if (entries === null) return null;
  const { method, values } =
    url.view === 'logs' ? logCall(entries) : { method: url.view.replaceAll('-', '_'), values: entries };
  const words = [
    ...values.map(([name, value]) => {
      if (FLAGS.has(name)) return `${name}=True`;
      const text = /^\d+$/.test(value) && /^(since|until)/.test(name) ? value : JSON.stringify(value);
      return `${name}=${text}`;
    }),
    `session=${JSON.stringify(url.session)}`,
  ];
  return [
    'from rayscope.client import Client',
    '',
    `client = Client(${JSON.stringify(server)})`,
    `found = client.${method}(${words.join(', ')})`,
    '',
  ].join('\n');
}

/** The client call for the lines of a file, a search in all files, or the list of files. */
function logCall(entries: ListFilters): { method: string; values: ListFilters } {
  const has = (name: string) => entries.some(([each]) => each === name);
  const isFile = has('file') && has('node');
  const names: Record<string, string | undefined> = {
    node: 'node_id',
    ...(isFile && { file: 'name' }),
    ...((isFile || has('search')) && {
      search: 'q',
      regex: 'regex',
      level: 'level',
      since_ns: 'since',
      until_ns: 'until',
    }),
  };
  const values = entries.flatMap(([name, value]) => {
    const parameter = names[name];
    return parameter === undefined ? [] : [[parameter, value, null] as ListFilters[number]];
  });
  return { method: isFile ? 'log_page' : has('search') ? 'search_logs' : 'log_files', values };
}
