/** localStorage, which may be disabled. Keys are prefixed. */
const PREFIX = 'rayscope.';
/** Holds the preferences until the page is closed if localStorage is disabled. */
const held = new Map<string, string>();

export function load(key: string): string | null {
  try {
    return localStorage.getItem(PREFIX + key);
  } catch {
    return held.get(key) ?? null;
  }
}

export function save(key: string, value: string): void {
  try {
    localStorage.setItem(PREFIX + key, value);
  } catch {
    held.set(key, value);
  }
}
