/** localStorage, which may be disabled. Keys are prefixed. */
const PREFIX = 'rayscope.';

export function load(key: string): string | null {
  try {
    return localStorage.getItem(PREFIX + key);
  } catch {
    return null;
  }
}

export function save(key: string, value: string): void {
  try {
    localStorage.setItem(PREFIX + key, value);
  } catch {
    // Only a preference is lost.
  }
}
