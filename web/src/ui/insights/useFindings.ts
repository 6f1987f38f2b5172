import { useMemo } from 'react';
import { useInsights } from '../../api/insights';
import type { FindingItem } from '../../api/schema';

/** The findings loaded so far. */
export interface Findings {
  /** The most severe finding of a function or an actor class, or of one actor of that class. */
  of: (name: string | null | undefined, actorId?: string | null) => FindingItem | undefined;
  /** The most severe finding of the driver itself. */
  driver: FindingItem | undefined;
  job: string;
}

const NONE: Findings = { of: () => undefined, driver: undefined, job: '' };

/**
 * The names under which a finding is shown. For an actor class, these are its full name, its short name and
 * the function that the finding filters by, if any.
 */
function namesOf({ function: name, actor_class, filters }: FindingItem): string[] {
  if (name !== null) return [name];
  if (actor_class === null) return [];
  const short = actor_class.split('.').at(-1) ?? actor_class;
  return [actor_class, short, ...(filters.func_name ? [filters.func_name] : [])];
}

/**
 * The first finding under a name, which is the most severe one. A finding about one actor of a class applies
 * to that actor, and to places that show all actors of the class together.
 */
export function findingOf(
  findings: readonly FindingItem[],
  name: string,
  actorId?: string | null,
): FindingItem | undefined {
  return findings.find((finding) => {
    const { actor_id } = finding.filters;
    return namesOf(finding).includes(name) && (!actorId || !actor_id || actor_id === actorId);
  });
}

/**
 * Findings of a job (or the longest one), for marks next to other content. They are fetched only once that
 * content is `ready`, and are empty until then.
 */
export function useFindings(session: string, job: string | undefined, ready: boolean): Findings {
  const { data, isPlaceholderData } = useInsights(session, job, { isAside: true, enabled: ready });
  return useMemo(() => {
    if (data === undefined || isPlaceholderData) return NONE;
    return {
      of: (name, actorId) => (name ? findingOf(data.findings, name, actorId) : undefined),
      driver: data.findings.find((one) => one.function === null && one.actor_class === null),
      job: data.job_id,
    };
  }, [data, isPlaceholderData]);
}
