/**
 * A rule's text with its label names as placeholders: `Node ‹node_ip› is dead`. A text with conditions,
 * loops, queries or variables is left unchanged.
 */
export function withPlaceholders(text: string): string {
  if (/\{\{-?\s*(?:if|with|range|\$\w+\s*:?=|\/\*)|\bquery\b/.test(text)) return text;
  return text.replace(/\{\{([^{}]*)\}\}/g, (_, action: string) => {
    const label = /(?:\$labels|\.Labels)\.(\w+)/.exec(action);
    return `‹${label?.[1] ?? 'value'}›`;
  });
}
