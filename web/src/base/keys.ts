/** Key bindings: dispatches key events and lists the active bindings. */

/** One key, or several with the same action. */
export interface Binding {
  /** Values of `KeyboardEvent.key`; `mod+k` is Ctrl+K, or Cmd+K on a Mac. Letters are lower case. */
  keys: string[];
  /** The action in the user's language. */
  label: string;
  /** Returns false if the binding does not apply, so that other bindings get the event. */
  run: (event: KeyboardEvent) => unknown;
}

/** Key bindings of one component, such as a list or a chart. */
interface BindingGroup {
  title: string;
  bindings: Binding[];
}

/** Active groups. The one added last has priority. */
const groups: { current: BindingGroup }[] = [];

/**
 * Activates key bindings until the returned function is called. `group.current` may change in the meantime.
 */
export function addKeys(group: { current: BindingGroup }): () => void {
  if (groups.length === 0) window.addEventListener('keydown', dispatch);
  groups.push(group);
  return () => {
    groups.splice(groups.indexOf(group), 1);
    if (groups.length === 0) window.removeEventListener('keydown', dispatch);
  };
}

/**
 * The active key bindings, by title of their group. If groups with the same title bind the same keys, the one
 * added last counts.
 */
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

/** The event that opens the list of keys. Any part of the page can dispatch it. */
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

/** A key as labelled on the keyboard. */
export function keyName(key: string): string {
  if (key.startsWith('mod+')) return (isMac() ? '⌘' : 'Ctrl+') + keyName(key.slice(4));
  return NAMES[key] ?? (/^[a-z]$/.test(key) ? key.toUpperCase() : key);
}

function dispatch(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.altKey || event.isComposing) return;
  const mod = event.ctrlKey || event.metaKey;
  // While the user types, plain keys belong to the text field. While a dialog is open, they belong to it.
  if (!mod && (isTyping(event.target) || document.querySelector('[aria-modal="true"]') !== null)) return;
  if (/^(Enter| )$/.test(event.key) && isControl(event.target)) return;
  const key = (mod ? 'mod+' : '') + (event.key.length === 1 ? event.key.toLowerCase() : event.key);
  for (const { current } of [...groups].reverse())
    for (const binding of current.bindings) {
      if (!binding.keys.includes(key) || binding.run(event) === false) continue;
      event.preventDefault();
      return;
    }
}

/** Whether Enter and Space belong to the element that has the focus. */
function isControl(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest('button, a, input, [role="menuitem"]') !== null;
}

/** Whether a text field, an open menu or a dialog has the focus. */
export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement && /^(radio|checkbox)$/.test(target.type)) return false;
  return (
    target.isContentEditable ||
    /^(input|textarea|select)$/i.test(target.tagName) ||
    target.closest('[role="menu"], [role="listbox"], [role="dialog"]') !== null
  );
}
