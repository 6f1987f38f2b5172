import type { CriticalPathAnswer, FindingItem } from '../../api/schema';

export type Cause = CriticalPathAnswer['causes'][number];

/** Phases in which a function uses the time that a finding about it saves. */
const RUNNING = ['executing', 'awaiting'];

/** The findings of each cause, and those that belong to none of them. The largest cause of a place counts. */
export function findingsOf(causes: readonly Cause[], findings: readonly FindingItem[]) {
  const of = new Map<Cause, FindingItem[]>();
  const others: FindingItem[] = [];
  for (const finding of findings) {
    const cause = finding.is_risk ? undefined : causeOf(causes, finding);
    if (cause === undefined) others.push(finding);
    else of.set(cause, [...(of.get(cause) ?? []), finding]);
  }
  return { of, others };
}

function causeOf(causes: readonly Cause[], { function: name, actor_class }: FindingItem): Cause | undefined {
  const about = causes.filter(
    (cause) =>
      !cause.is_driver &&
      (name === null
        ? actor_class !== null && cause.name.startsWith(`${actor_class}.`)
        : cause.name === name),
  );
  return about.find(({ phase }) => RUNNING.includes(phase)) ?? about[0];
}
