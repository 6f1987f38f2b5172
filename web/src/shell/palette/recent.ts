import { load, save } from '../../base/storage';
import type { Entry } from './entries';

const KEY = 'palette.recent';
const MAX_SHOWN = 5;
const MAX_KEPT = 40;

type RecentEntry = Entry & { session?: string };

function loadRecent(): RecentEntry[] {
  try {
    const value: unknown = JSON.parse(load(KEY) ?? '[]');
    return Array.isArray(value) ? (value as RecentEntry[]) : [];
  } catch {
    return [];
  }
}

/** Recently chosen entries of this session, newest first. */
export function recentEntries(session: string | undefined): Entry[] {
  return loadRecent()
    .filter((entry) => entry.session === session)
    .slice(0, MAX_SHOWN)
    .map(({ session: _, ...entry }) => ({ ...entry, key: `recent ${entry.key}` }));
}

export function keepRecent(session: string | undefined, entry: Entry): void {
  const key = entry.key.replace(/^recent /, '');
  const others = loadRecent().filter((one) => one.session !== session || one.key !== key);
  // The state is left out, because it would be outdated when the entry is shown again.
  save(KEY, JSON.stringify([{ ...entry, key, state: undefined, session }, ...others].slice(0, MAX_KEPT)));
}
