/**
 * A rule's text without an alert to fill it in: `Node ‹node_ip› is dead`. One with conditions, loops, queries or
 * variables stays as it is written.
 */
export function withPlaces(text: string): string {
  if (/\{\{-?\s*(?:if|with|range|\$\w+\s*:?=|\/\*)|\bquery\b/.test(text)) return text;
  return text.replace(/\{\{([^{}]*)\}\}/g, (_, action: string) => {
    const label = /(?:\$labels|\.Labels)\.(\w+)/.exec(action);
    return `‹${label?.[1] ?? 'value'}›`;
  });
}
