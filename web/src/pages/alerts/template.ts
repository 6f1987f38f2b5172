/** A rule's text without an alert to fill it in: `Node ‹node_ip› is dead`. */
export function withPlaces(text: string): string {
  return text.replace(/\{\{([^{}]*)\}\}/g, (_, action: string) => {
    const label = /(?:\$labels|\.Labels)\.(\w+)/.exec(action);
    return `‹${label?.[1] ?? 'value'}›`;
  });
}
