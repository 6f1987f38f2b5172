import type { Finding } from '../../api/insights';
import { bytes, count, duration } from '../../base/format';
import { FILTERS, type Filters, type SessionUrl, toView, withSettings } from '../../base/url';

/** A finding by its kind and where it is, as the URL names it. */
export const findingKey = ({ kind, function: name, actor_class, caller }: Finding) =>
  [kind, name ?? actor_class ?? '', caller ?? ''].join(':').replace(/:+$/, '');

/** The page of a job's findings, with one of them opened. */
export function toFinding(url: SessionUrl, job: string, finding: Finding): SessionUrl {
  return withSettings(toView(url, 'insights', { job_id: job }), { finding: findingKey(finding) });
}

/** The filters of a finding that lists have. */
export const filtersOf = (finding: Finding): Filters =>
  Object.fromEntries(
    FILTERS.flatMap((name) => (finding.filters[name] ? [[name, finding.filters[name]]] : [])),
  );

const SHARE = /(^|_)(share|busy)$/;

/** A number of a finding as people read it; its name says what it is. */
export function numberText(name: string, value: number | string): string {
  if (typeof value === 'string') return value;
  if (name.endsWith('_ns')) return duration(value);
  if (name.endsWith('_bytes')) return bytes(value);
  if (SHARE.test(name)) return `${Math.round(100 * value)}%`;
  return Number.isInteger(value) ? count(value) : String(Number(value.toPrecision(3)));
}

/** A name of a number without its unit: `median_ns` is `median`. */
export const plainName = (name: string) => name.replace(/_(ns|bytes)$/, '').replaceAll('_', ' ');
