import type { FindingItem } from '../../api/schema';
import { bytes, count, duration } from '../../base/format';
import { FILTERS, type Filters, type SessionUrl, toView, withSettings } from '../../base/url';

/** A finding's key in the URL: its kind and place. */
export const findingKey = ({ kind, function: name, actor_class, caller }: FindingItem) =>
  [kind, name ?? actor_class ?? '', caller ?? ''].join(':').replace(/:+$/, '');

/** The page of a job's findings, with one of them opened. */
export function toFinding(url: SessionUrl, job: string, finding: FindingItem): SessionUrl {
  return withSettings(toView(url, 'insights', { job_id: job }), { finding: findingKey(finding) });
}

/** Those filters of a finding that the lists support. */
export const filtersOf = (finding: FindingItem): Filters =>
  Object.fromEntries(
    FILTERS.flatMap((name) => (finding.filters[name] ? [[name, finding.filters[name]]] : [])),
  );

const SHARE = /(^|_)(share|busy)$/;

/** A formatted number of a finding. Its name determines the unit. */
export function numberText(name: string, value: number | string): string {
  if (typeof value === 'string') return value;
  if (name.endsWith('_ns')) return duration(value);
  if (name.endsWith('_bytes')) return bytes(value);
  if (SHARE.test(name)) return `${Math.round(100 * value)}%`;
  return Number.isInteger(value) ? count(value) : String(Number(value.toPrecision(3)));
}

/** The name of a number without its unit: `median_ns` becomes `median`. */
export const plainName = (name: string) => name.replace(/_(ns|bytes)$/, '').replaceAll('_', ' ');
