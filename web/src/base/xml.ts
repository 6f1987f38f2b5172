const ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/**
 * Escapes a string for XML. Characters that XML does not allow (control characters, lone surrogates) are
 * removed.
 */
export function xmlText(text: string): string {
  return text
    .replace(/[^\t\n\r\u0020-\uFFFD\u{10000}-\u{10FFFF}]|[\uD800-\uDFFF]/gu, '')
    .replace(/[&<>"']/g, (letter) => ENTITIES[letter] ?? letter);
}
