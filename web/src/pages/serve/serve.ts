import type { Calls, Change, Deployment, Request, RequestStep } from './types';

/** What a graph of deployments needs of each. */
export type Called = Pick<Deployment, 'deployment_id' | 'is_ingress' | 'calls'>;

/** The calls between the deployments of one application, as pairs of ids: those that Ray knows, and `edges`. */
export function callsWithin(
  deployments: readonly Called[],
  edges: readonly Pick<Calls, 'caller' | 'callee'>[],
): [from: string, to: string][] {
  const known = new Set(deployments.map((one) => one.deployment_id));
  return deployments.flatMap(({ deployment_id: from, calls }) => {
    const counted = edges.filter((one) => one.caller === from).map((one) => one.callee);
    return [...new Set([...(calls ?? []), ...counted])]
      .filter((to) => known.has(to) && to !== from)
      .map((to): [string, string] => [from, to]);
  });
}

/** What a deployment calls in other applications. */
export function callsOutside(deployment: Called, all: readonly Called[]): string[] {
  const known = new Set(all.map((one) => one.deployment_id));
  return (deployment.calls ?? []).filter((to) => !known.has(to));
}

/** What a thing's state is, or was when its cluster ended. */
export function stateOf(of: { state: string | null; last_state: string | null }): string | null {
  return of.state === 'CUT_OFF' ? (of.last_state ?? of.state) : of.state;
}

/** What led to a state, as far as it says something. */
export function triggerOf(trigger: string | null): string | null {
  return trigger === null || /^UNSPECIFIED$|_COMPLETED$/.test(trigger) ? null : trigger;
}

/** Why a deployment is in its state, in Serve's words; null for what needs none. */
export function reasonOf(deployment: {
  message: string | null;
  status_trigger: string | null;
}): string | null {
  return deployment.message ?? triggerOf(deployment.status_trigger);
}

/** Of a traceback the line that says what happened. */
export function lastLine(text: string): string {
  const lines = text.trim().split('\n');
  return lines.length > 2 ? (lines[lines.length - 1] ?? text) : text;
}

/** Changes of an application and of its deployments, newest first. */
export function changesOf(application: {
  history: Change[];
  deployments: { name: string; history: Change[] }[];
}): (Change & { deployment: string | null })[] {
  return [
    ...application.history.map((change) => ({ ...change, deployment: null })),
    ...application.deployments.flatMap(({ name, history }) =>
      history.map((change) => ({ ...change, deployment: name })),
    ),
  ].sort((a, b) => b.time_ns - a.time_ns);
}

/** The parts of a request's time, in the order in which it first spends some in them. */
export const PARTS = ['proxy', 'queue', 'replica', 'downstream'] as const;
export type Part = (typeof PARTS)[number] | 'unknown';

/** How long a request was in each part, those that it was in; what is not known is one more. */
export function partsOf(request: Omit<Request, 'steps'>): [part: Part, ns: number][] {
  const known = PARTS.map((part): [Part, number] => [part, request[`${part}_ns`] ?? 0]);
  const rest = request.total_ns - known.reduce((sum, [, ns]) => sum + ns, 0);
  return [...known, ['unknown', rest] as [Part, number]].filter(([, ns]) => ns > 0);
}

/** The same of one step; what a proxy spends in other parts is that of the steps below it. */
export function stepParts(step: RequestStep): [part: Part, ns: number][] {
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

/** A deployment in which requests spent time, or for which they waited; `share`: of the time that is known. */
export interface Spent {
  deployment: string;
  part: 'queue' | 'replica';
  share: number;
}

/** Where requests spent most of their time, at most three places. */
export function mostlySpent(requests: readonly Pick<Request, 'steps' | 'proxy_ns'>[]): Spent[] {
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

/** Whether the autoscaler chooses how many replicas a deployment has. */
export function isAutoscaled({ config }: Pick<Deployment, 'config'>): boolean {
  return config !== null && config.autoscaling_config != null;
}

const quoted = (value: string) =>
  `"${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`;

/** A PromQL selector of these labels. */
export function labels(of: Record<string, string>): string {
  return `{${Object.entries(of)
    .map(([name, value]) => `${name}=${quoted(value)}`)
    .join(',')}}`;
}

/** How fast one of Ray's counters grows; newer versions of Ray end its name in `_total`, some export both. */
export function rateOf(counter: string, of: string, by: string): string {
  const rate = (name: string) => `sum by (${by}) (rate(${name}${of}[1m]))`;
  return `${rate(`${counter}_total`)} or ${rate(counter)}`;
}

/** A quantile of one of Serve's histograms of milliseconds, in seconds. */
export function quantileOf(q: number, histogram: string, of: string, by: string): string {
  return `histogram_quantile(${q}, sum by (${by}, le) (rate(${histogram}_bucket${of}[1m]))) / 1000`;
}

/** The mean of what a histogram observed, as Ray tells it: all in a bucket count as its middle. */
export function meanOf(histogram: string, of: string, by: string): string {
  const rate = (part: string) => `sum by (${by}) (rate(${histogram}_${part}${of}[1m]))`;
  return `${rate('sum')} / ${rate('count')}`;
}
