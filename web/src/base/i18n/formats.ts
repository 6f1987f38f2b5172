import type { i18n } from 'i18next';

/** Whether a number, maybe written `1,234`, is one. */
const isOne = (value: unknown) => String(value) === '1';

/**
 * What English texts write around numbers: `{{n}} task{{n, s}}`, `{{n, plural(one: runs; other: run)}}`, and
 * `{{resource, units(of: wanted)}}` for names of resources.
 */
export function addFormats(to: i18n): void {
  const { formatter } = to.services;
  formatter?.add('s', (value) => (isOne(value) ? '' : 's'));
  formatter?.add('plural', (value, _, options) => (isOne(value) ? options.one : options.other));
  formatter?.add('units', (value, _, options) =>
    /^[CG]PU$/.test(String(value)) && !isOne(options[options.of]) ? `${value}s` : String(value),
  );
}
