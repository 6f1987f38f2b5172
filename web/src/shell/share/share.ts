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

/** What narrows and orders the list of a page; null where there is no such list. */
function asked(url: SessionUrl): [name: string, value: string, option: string | null][] | null {
  const options = COMMANDS[url.view];
  if (options === undefined) return null;
  const internal = url.settings?.internal === 'show' ? 'true' : undefined;
  const given: Record<string, string | undefined> = { ...url.filters, sort: url.sort, internal };
  return Object.entries(options).flatMap(([name, option]) => {
    const value = given[name];
    return value ? [[name, value, option] as [string, string, string | null]] : [];
  });
}

const forShell = (text: string) =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** The command that lists the same, and the filters that it has no option for. */
export function asCommand(url: SessionUrl, server: string): { text: string; missing: string[] } | null {
  const given = asked(url);
  if (given === null) return null;
  const words = given.flatMap(([name, value, option]) => {
    if (option === null) return [];
    if (name === 'internal') return [option];
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
  const values = [
    `session=${JSON.stringify(url.session)}`,
    ...given.map(([name, value]) => {
      if (name === 'internal') return 'internal=True';
      return `${name}=${/^\d+$/.test(value) && name.endsWith('_ns') ? value : JSON.stringify(value)}`;
    }),
  ];
  return [
    'from rayscope.client import Client',
    '',
    `client = Client(${JSON.stringify(server)})`,
    `found = client.${url.view}(${values.join(', ')})`,
    '',
  ].join('\n');
}
