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
