const ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** A text as XML has it. What XML cannot have (control characters, halves of characters) is left out. */
export function xmlText(text: string): string {
  return text
    .replace(/[^\t\n\r\u0020-\uFFFD\u{10000}-\u{10FFFF}]|[\uD800-\uDFFF]/gu, '')
    .replace(/[&<>"']/g, (letter) => ENTITIES[letter] ?? letter);
}
