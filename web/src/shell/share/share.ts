/** What a page is called elsewhere: a link that stays as it is, a command, a line of Python. */

import { rangeIn, type SessionUrl, withSettings } from '../../base/url';
import { type Bounds, type Choice, nanos, rangeOf, withChoice } from '../../ui/charts/timeRange';
import commands from './commands.json';

/** The page as it is now: what would move on with a live session gets the time that it has. */
export function pinned(url: SessionUrl, choice: Choice, bounds: Bounds, now: number): SessionUrl {
  if (!bounds.live || rangeIn(url.filters) !== null) return url;
  if (url.view === 'physical' || url.view === 'stack')
    return url.settings?.at ? url : withSettings(url, { at: nanos(now) });
  const hasCharts = url.view === 'overview' || url.view === 'metrics' || url.view === 'nodes';
  return withChoice(url, { kind: 'fixed', ...rangeOf(hasCharts ? choice : { kind: 'all' }, bounds, now) });
}

/** Of each list: what narrows and orders it, by its name in the client, and the option of the command. */
const COMMANDS: Record<string, Record<string, string | null>> = commands;
/** The same of the logs, which the client has several methods for. */
const LOGS: Record<string, string | null> = {
  node: '--node',
  file: '--file',
  search: '--search',
  regex: '--regex',
  level: '--level',
  since_ns: null,
  until_ns: null,
};

type Given = [name: string, value: string, option: string | null][];

/** What narrows and orders the list of a page; null where there is no such list. */
function asked(url: SessionUrl): Given | null {
  const options = url.view === 'logs' ? LOGS : COMMANDS[url.view];
  if (options === undefined || (url.view === 'jobs' && url.item !== undefined)) return null;
  const { internal, mode, ...settings } = url.settings ?? {};
  const given: Record<string, string | undefined> = {
    ...url.filters,
    ...(url.view === 'logs' && { ...settings, regex: mode === 'regex' ? 'true' : undefined }),
    sort: url.sort,
    internal: internal === 'show' ? 'true' : undefined,
  };
  return Object.entries(options).flatMap(([name, option]) => {
    const value = given[name];
    return value ? [[name, value, option] as Given[number]] : [];
  });
}

const FLAGS = new Set(['internal', 'regex']);

const forShell = (text: string) =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** The command that lists the same, and the filters that it has no option for. */
export function asCommand(url: SessionUrl, server: string): { text: string; missing: string[] } | null {
  const given = asked(url);
  if (given === null) return null;
  const words = given.flatMap(([name, value, option]) => {
    if (option === null) return [];
    if (FLAGS.has(name)) return [option];
    // What begins with a dash would be taken for an option.
    return value.startsWith('-') ? [`${option}=${forShell(value)}`] : [option, forShell(value)];
  });
  const text = ['rayscope', url.view, ...words, '--session', forShell(url.session), '--server', server];
  return {
    text: text.join(' '),
    missing: given.filter(([, , option]) => option === null).map(([name]) => name),
  };
}

/** The same list with the Python client. */
export function asPython(url: SessionUrl, server: string): string | null {
  const given = asked(url);
  if (given === null) return null;
  const { method, values } =
    url.view === 'logs' ? logCall(given) : { method: url.view.replaceAll('-', '_'), values: given };
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

/** Lines of a file, lines that are looked for in all files, or the files. */
function logCall(given: Given): { method: string; values: Given } {
  const has = (name: string) => given.some(([each]) => each === name);
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
  const values = given.flatMap(([name, value]) => {
    const parameter = names[name];
    return parameter === undefined ? [] : [[parameter, value, null] as Given[number]];
  });
  return { method: isFile ? 'log_page' : has('search') ? 'search_logs' : 'log_files', values };
}
