/** A value as text: an object as JSON, and null as nothing. */
export function textOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** A table as CSV according to RFC 4180. NULL is an empty field. */
export function csvOf(heads: readonly string[], rows: readonly (readonly unknown[])[]): string {
  const field = (value: unknown) => {
    const text = textOf(value);
    // Spreadsheets evaluate text that starts like a formula.
    const safe = /^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  return [heads, ...rows].map((row) => `${row.map(field).join(',')}\r\n`).join('');
}
