import type { i18n } from 'i18next';

/** Whether a number, possibly formatted as `1,234`, equals 1. */
const isOne = (value: unknown) => String(value) === '1';

/**
 * Formats for numbers in English texts: `{{n}} task{{n, s}}`, `{{n, plural(one: runs; other: run)}}`, and
 * `{{resource, units(of: wanted)}}` for resource names.
 */
export function addFormats(to: i18n): void {
  const { formatter } = to.services;
  formatter?.add('s', (value) => (isOne(value) ? '' : 's'));
  formatter?.add('plural', (value, _, options) => (isOne(value) ? options.one : options.other));
  formatter?.add('units', (value, _, options) =>
    /^[CG]PU$/.test(String(value)) && !isOne(options[options.of]) ? `${value}s` : String(value),
  );
}
