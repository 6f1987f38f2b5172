/** Keys: who acts on them, and the list of those that act now. */

/** A key, or several that do the same. */
export interface Binding {
  /** As `KeyboardEvent.key` has them; `mod+k` is Ctrl+K, on a Mac Cmd+K. Letters in lower case. */
  keys: string[];
  /** What it does, in the reader's language. */
  label: string;
  /** Returns false where it does not apply: then the event is for others. */
  run: (event: KeyboardEvent) => unknown;
}

/** Keys that belong together: of a list, of a chart. */
export interface BindingGroup {
  title: string;
  bindings: Binding[];
}

/** Those on screen; what came last is asked first. */
const groups: { current: BindingGroup }[] = [];

/** Acts on these keys until the returned function is called. `group.current` may change meanwhile. */
export function addKeys(group: { current: BindingGroup }): () => void {
  if (groups.length === 0) window.addEventListener('keydown', dispatch);
  groups.push(group);
  return () => {
    groups.splice(groups.indexOf(group), 1);
    if (groups.length === 0) window.removeEventListener('keydown', dispatch);
  };
}

/** Each key that acts now, once, in groups. */
export function activeKeys(): BindingGroup[] {
  const found = new Map<string, Map<string, Binding>>();
  for (const { current } of groups) {
    const bindings = found.get(current.title) ?? new Map<string, Binding>();
    found.set(current.title, bindings);
    for (const binding of current.bindings) bindings.set(binding.keys.join(' '), binding);
  }
  return [...found]
    .map(([title, bindings]) => ({ title, bindings: [...bindings.values()] }))
    .filter(({ bindings }) => bindings.length > 0);
}

/** Opens the list of keys, from anywhere. */
export const SHOW_KEYS = 'rayscope:keys';
export const showKeys = () => window.dispatchEvent(new Event(SHOW_KEYS));

const isMac = () => /Mac|iPhone|iPad/.test(navigator.userAgent);

const NAMES: Record<string, string> = {
  ArrowUp: '↑',
  ArrowDown: '↓',
  ArrowLeft: '←',
  ArrowRight: '→',
  Escape: 'Esc',
};

/** A key as it is written on the keyboard. */
export function keyName(key: string): string {
  if (key.startsWith('mod+')) return (isMac() ? '⌘' : 'Ctrl+') + keyName(key.slice(4));
  return NAMES[key] ?? (/^[a-z]$/.test(key) ? key.toUpperCase() : key);
}

function dispatch(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.altKey || event.isComposing) return;
  const mod = event.ctrlKey || event.metaKey;
  // Plain keys are for the text that somebody writes.
  if (!mod && isTyping(event.target)) return;
  const key = (mod ? 'mod+' : '') + (event.key.length === 1 ? event.key.toLowerCase() : event.key);
  for (const { current } of [...groups].reverse())
    for (const binding of current.bindings) {
      if (!binding.keys.includes(key) || binding.run(event) === false) continue;
      event.preventDefault();
      return;
    }
}

/** Whether keys go into a text that somebody writes, or to an open menu or dialog. */
export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement && /^(radio|checkbox)$/.test(target.type)) return false;
  return (
    target.isContentEditable ||
    /^(input|textarea|select)$/i.test(target.tagName) ||
    target.closest('[role="menu"], [role="listbox"], [role="dialog"]') !== null
  );
}
