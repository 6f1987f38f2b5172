/** A period of time, in ns after a base that stays the same while the page is open. */
export interface Span {
  begin: number;
  end: number;
}

/** A time relative to a base, in the API's format: ns since the epoch. */
export function absolute(base: number, ns: number): string {
  return String(BigInt(base) + BigInt(Math.round(ns)));
}

/** A time from the URL relative to a base; null if it is invalid. */
export function relative(base: number, text: string | undefined): number | null {
  return text !== undefined && /^\d{1,19}$/.test(text) ? Number(BigInt(text) - BigInt(base)) : null;
}
