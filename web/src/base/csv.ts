/** A value as text: an object as JSON, and null as nothing. */
export function textOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** A value as text that spreadsheets do not evaluate, although it may start like a formula. */
export function cellText(value: unknown): string {
  const text = textOf(value);
  return /^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
}

/** A table as CSV according to RFC 4180. NULL is an empty field. */
export function csvOf(heads: readonly string[], rows: readonly (readonly unknown[])[]): string {
  const field = (value: unknown) => {
    const safe = cellText(value);
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  return [heads, ...rows].map((row) => `${row.map(field).join(',')}\r\n`).join('');
}
