import type {
  ServeCalls,
  ServeChange,
  ServeDeployment,
  ServeRequest,
  ServeRequestStep,
} from '../../api/schema';

/** The fields of a deployment that the graph needs. */
export type Called = Pick<ServeDeployment, 'deployment_id' | 'is_ingress' | 'calls'>;

/**
 * The calls between the deployments of one application, as pairs of ids. They come from Ray's report and from
 * `edges`.
 */
export function callsWithin(
  deployments: readonly Called[],
  edges: readonly Pick<ServeCalls, 'caller' | 'callee'>[],
): [from: string, to: string][] {
  const known = new Set(deployments.map((one) => one.deployment_id));
  return deployments.flatMap(({ deployment_id: from, calls }) => {
    const counted = edges.filter((one) => one.caller === from).map((one) => one.callee);
    return [...new Set([...(calls ?? []), ...counted])]
      .filter((to) => known.has(to) && to !== from)
      .map((to): [string, string] => [from, to]);
  });
}

/** The deployments in other applications that a deployment calls. */
export function callsOutside(deployment: Called, all: readonly Called[]): string[] {
  const known = new Set(all.map((one) => one.deployment_id));
  return (deployment.calls ?? []).filter((to) => !known.has(to));
}

/** The current state, or the last one before the cluster ended. */
export function stateOf(of: { state: string | null; last_state: string | null }): string | null {
  return of.state === 'CUT_OFF' ? (of.last_state ?? of.state) : of.state;
}

/** The trigger of a state, if it adds information. */
function triggerOf(trigger: string | null): string | null {
  return trigger === null || /^UNSPECIFIED$|_COMPLETED$/.test(trigger) ? null : trigger;
}

/** Serve's reason for the state of a deployment; null if there is none. */
export function reasonOf(deployment: {
  message: string | null;
  status_trigger: string | null;
}): string | null {
  return deployment.message ?? triggerOf(deployment.status_trigger);
}

/** The line of a traceback that describes the error. */
export function lastLine(text: string): string {
  const lines = text.trim().split('\n');
  return lines.length > 2 ? (lines[lines.length - 1] ?? text) : text;
}

/** State changes of an application and its deployments, newest first. */
export function changesOf(application: {
  history: ServeChange[];
  deployments: { name: string; history: ServeChange[] }[];
}): (ServeChange & { deployment: string | null })[] {
  return [
    ...application.history.map((change) => ({ ...change, deployment: null })),
    ...application.deployments.flatMap(({ name, history }) =>
      history.map((change) => ({ ...change, deployment: name })),
    ),
  ].sort((a, b) => b.time_ns - a.time_ns);
}

/** The parts of a request's time, in the order in which they start. */
export const PARTS = ['proxy', 'queue', 'replica', 'downstream'] as const;
export type Part = (typeof PARTS)[number] | 'unknown';

/**
 * The time that a request spent in each part; empty parts are left out. Time that cannot be assigned is a
 * part of its own.
 */
export function partsOf(request: Omit<ServeRequest, 'steps'>): [part: Part, ns: number][] {
  const known = PARTS.map((part): [Part, number] => [part, request[`${part}_ns`] ?? 0]);
  const rest = request.total_ns - known.reduce((sum, [, ns]) => sum + ns, 0);
  return [...known, ['unknown', rest] as [Part, number]].filter(([, ns]) => ns > 0);
}

/**
 * The same for one step. The proxy's step is one part, because its time in other parts belongs to the steps
 * below it.
 */
export function stepParts(step: ServeRequestStep): [part: Part, ns: number][] {
  const whole = step.end_ns - step.begin_ns;
  if (step.deployment === null) return [['proxy', whole]];
  const queue = Math.min(step.queue_ns ?? 0, whole);
  const downstream = Math.min(step.downstream_ns ?? 0, whole - queue);
  const rest = whole - queue - downstream;
  const parts: [Part, number][] = [
    ['queue', queue],
    [step.replica_ns === null ? 'unknown' : 'replica', rest],
    ['downstream', downstream],
  ];
  return parts.filter(([, ns]) => ns > 0);
}

/** A deployment in which requests spent time or waited. `share` is the share of all known time. */
interface Spent {
  deployment: string;
  part: 'queue' | 'replica';
  share: number;
}

/** The deployments in which requests spent most of their time, at most three of them. */
export function mostlySpent(requests: readonly Pick<ServeRequest, 'steps' | 'proxy_ns'>[]): Spent[] {
  const spent = new Map<string, Spent>();
  let all = 0;
  for (const { steps, proxy_ns } of requests) {
    all += proxy_ns ?? 0;
    for (const step of steps)
      for (const [part, ns] of stepParts(step)) {
        const { deployment } = step;
        if (deployment === null || (part !== 'queue' && part !== 'replica')) continue;
        const key = `${part} ${step.application}#${deployment}`;
        spent.set(key, { deployment, part, share: (spent.get(key)?.share ?? 0) + ns });
        all += ns;
      }
  }
  return [...spent.values()]
    .map((one) => ({ ...one, share: one.share / all }))
    .filter((one) => one.share >= 0.05)
    .sort((a, b) => b.share - a.share)
    .slice(0, 3);
}

/** Whether the autoscaler controls the number of replicas of a deployment. */
export function isAutoscaled({ config }: Pick<ServeDeployment, 'config'>): boolean {
  return config !== null && config.autoscaling_config != null;
}

/**
 * The rate of one of Ray's counters. Newer versions of Ray add `_total` to the counter's name, and some
 * versions export both names.
 */
export function rateOf(counter: string, of: string, by: string): string {
  const rate = (name: string) => `sum by (${by}) (rate(${name}${of}[1m]))`;
  return `${rate(`${counter}_total`)} or ${rate(counter)}`;
}

/** A quantile of one of Serve's histograms, converted from milliseconds to seconds. */
export function quantileOf(q: number, histogram: string, of: string, by: string): string {
  return `histogram_quantile(${q}, sum by (${by}, le) (rate(${histogram}_bucket${of}[1m]))) / 1000`;
}

/** The mean of a histogram as Ray reports it, where each value counts as the middle of its bucket. */
export function meanOf(histogram: string, of: string, by: string): string {
  const rate = (part: string) => `sum by (${by}) (rate(${histogram}_${part}${of}[1m]))`;
  return `${rate('sum')} / ${rate('count')}`;
}
