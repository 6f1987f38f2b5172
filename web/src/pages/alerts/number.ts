/** A value of an alert with at most four digits. */
export function number(value: number | null): string {
  return value === null ? '–' : String(Number(value.toPrecision(4)));
}
