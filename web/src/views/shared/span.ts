/** A stretch of time: ns after a base that stays the same while one looks. */
export interface Span {
  begin: number;
  end: number;
}

/** A time as the API takes it. */
export function absolute(base: number, ns: number): string {
  return String(BigInt(base) + BigInt(Math.round(ns)));
}

/** A time of the URL after a base, or null if it is none. */
export function relative(base: number, text: string | undefined): number | null {
  return text !== undefined && /^\d{1,19}$/.test(text) ? Number(BigInt(text) - BigInt(base)) : null;
}
