import { useCallback, useSyncExternalStore } from 'react';
import { load, save } from '../base/storage';

const listeners = new Set<() => void>();
/** The last value of each key, so that equal texts give the same object. */
const parsed = new Map<string, { text: string | null; value: unknown }>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  window.addEventListener('storage', listener); // another tab changed a value
  return () => {
    listeners.delete(listener);
    window.removeEventListener('storage', listener);
  };
}

function read<T extends object | string>(key: string, usual: T): T {
  const text = load(key);
  const known = parsed.get(key);
  if (known !== undefined && known.text === text) return known.value as T;
  let value: unknown = null;
  try {
    value = JSON.parse(text ?? 'null');
  } catch {
    // Another version stored no JSON.
  }
  const fits =
    value !== null && typeof value === typeof usual && Array.isArray(value) === Array.isArray(usual);
  parsed.set(key, { text, value: fits ? value : usual });
  return fits ? (value as T) : usual;
}

/** A preference kept in the browser, and a function that sets it. All components and tabs have the same value. */
export function useStored<T extends object | string>(
  key: string,
  usual: T,
): readonly [T, (value: T | ((before: T) => T)) => void] {
  const value = useSyncExternalStore(subscribe, () => read(key, usual));
  const set = useCallback(
    (next: T | ((before: T) => T)) => {
      save(key, JSON.stringify(typeof next === 'function' ? next(read(key, usual)) : next));
      for (const listener of listeners) listener();
    },
    [key, usual],
  );
  return [value, set];
}
