import { useCallback, useMemo, useSyncExternalStore } from 'react';
import { REPORT } from '../base/report';
import { ROOT } from '../base/root';
import type { LibraryView } from '../base/url';
import { ApiError, get } from './client';
import { connectionEvents, REFRESH, refreshInterval } from './connection';
import { merged } from './mergePatch';
import type { AlertsAnswer, ClusterAnswer, LatestAnswer } from './schema';

/**
 * Live updates: one socket for all topics of this tab (docs/reference/realtime.md). It reconnects and
 * subscribes again automatically. If no socket can be opened, the same states are fetched over HTTP.
 */

type TopicName = 'cluster' | 'metrics' | 'tasks' | 'actors' | 'alerts' | 'job' | 'debugger';

interface TopicParams {
  session: string;
  job_id?: string;
}

interface Message {
  kind: 'state' | 'change' | 'error' | 'alive';
  topic?: TopicName;
  session?: string;
  params?: { job_id?: string };
  seq?: number;
  data?: unknown;
}

interface Subscription {
  topic: TopicName;
  params: TopicParams;
  data: unknown;
  /** Whether `data` matches the server's last message. Changes can be applied only then. */
  current: boolean;
  listeners: Set<() => void>;
  leaving?: ReturnType<typeof setTimeout>;
}

/** How long a topic stays subscribed after its component unmounts, in case it is mounted again, ms. */
const UNSUBSCRIBE_DELAY = 1_000;
/**
 * The socket counts as dead after this long without a message, ms. The server sends a heartbeat every 5 s.
 */
const HEARTBEAT_TIMEOUT = 15_000;
const BACK_OFF = [500, 1_000, 2_000, 4_000, 8_000, 15_000];
/** After this many failed attempts, states are fetched over HTTP while the socket keeps retrying. */
const MAX_SOCKET_FAILURES = 2;

export const keyOf = (topic: string, params: TopicParams) =>
  `${topic} ${params.session} ${params.job_id ?? ''}`;

class Push {
  private readonly watched = new Map<string, Subscription>();
  private socket: WebSocket | undefined;
  private attempts = 0;
  private retry: ReturnType<typeof setTimeout> | undefined;
  private silence: ReturnType<typeof setTimeout> | undefined;
  private polling: ReturnType<typeof setTimeout> | undefined;

  watch(topic: TopicName, params: TopicParams, listener: () => void): () => void {
    const key = keyOf(topic, params);
    let found = this.watched.get(key);
    if (found === undefined) {
      found = { topic, params, data: undefined, current: false, listeners: new Set() };
      this.watched.set(key, found);
      this.say({ subscribe: [subscriptionOf(found)] });
    }
    clearTimeout(found.leaving);
    found.listeners.add(listener);
    if (REPORT === null) this.connect();
    else void this.poll();
    const one = found;
    return () => {
      one.listeners.delete(listener);
      if (one.listeners.size > 0) return;
      one.leaving = setTimeout(() => {
        this.watched.delete(key);
        this.say({ unsubscribe: [subscriptionOf(one)] });
        if (this.watched.size === 0) this.close();
      }, UNSUBSCRIBE_DELAY);
    };
  }

  read(key: string): unknown {
    return this.watched.get(key)?.data;
  }

  private say(message: object): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }

  private connect(): void {
    if (this.socket !== undefined || this.retry !== undefined) return;
    const socket = new WebSocket(`${location.origin.replace(/^http/, 'ws')}${ROOT}/ws/realtime`);
    this.socket = socket;
    let opened = false;
    socket.onopen = () => {
      opened = true;
      this.attempts = 0;
      clearTimeout(this.polling);
      this.polling = undefined;
      this.heard();
      this.say({ acks: true, subscribe: [...this.watched.values()].map(subscriptionOf) });
    };
    socket.onmessage = (event) => {
      this.heard();
      this.take(JSON.parse(String(event.data)) as Message);
    };
    socket.onclose = () => {
      if (this.socket !== socket) return;
      this.socket = undefined;
      clearTimeout(this.silence);
      for (const each of this.watched.values()) each.current = false;
      // A refused connection may be caused by a proxy, so HTTP decides whether the server is reachable.
      if (opened) connectionEvents.failed();
      if (this.watched.size === 0) return;
      const pause = BACK_OFF[Math.min(this.attempts, BACK_OFF.length - 1)] ?? 0;
      this.attempts += 1;
      this.retry = setTimeout(() => {
        this.retry = undefined;
        this.connect();
      }, pause);
      if (this.attempts >= MAX_SOCKET_FAILURES && this.polling === undefined) void this.poll();
    };
  }

  private heard(): void {
    connectionEvents.answered();
    clearTimeout(this.silence);
    this.silence = setTimeout(() => this.socket?.close(), HEARTBEAT_TIMEOUT);
  }

  private close(): void {
    clearTimeout(this.retry);
    clearTimeout(this.polling);
    clearTimeout(this.silence);
    this.retry = undefined;
    this.polling = undefined;
    const socket = this.socket;
    this.socket = undefined;
    socket?.close();
  }

  private take(message: Message): void {
    if (message.kind === 'alive' || message.topic === undefined || message.session === undefined) return;
    if (message.seq !== undefined) this.say({ ack: 1 });
    const key = keyOf(message.topic, { session: message.session, ...message.params });
    const one = this.watched.get(key);
    if (one === undefined) return;
    if (message.kind === 'state') this.set(one, message.data);
    else if (message.kind === 'change' && one.current) this.set(one, merged(one.data, message.data));
    else one.current = false; // after an error, the server sends the full state
    // An error without a version refuses the subscription, such as to a session that is not yet known.
    if (message.kind === 'error' && message.seq === undefined) {
      setTimeout(() => {
        if (this.watched.get(key) === one) this.say({ subscribe: [subscriptionOf(one)] });
      }, REFRESH);
    }
  }

  private set(one: Subscription, data: unknown): void {
    one.data = data;
    one.current = true;
    for (const listener of one.listeners) listener();
  }

  private async poll(): Promise<void> {
    this.polling = setTimeout(() => undefined, 0);
    await Promise.all(
      [...this.watched.values()].map(async (one) => {
        try {
          const answer = await get('/realtime', { topic: one.topic, ...one.params });
          if (this.socket?.readyState !== WebSocket.OPEN) {
            this.set(one, answer.data);
            one.current = false;
          }
        } catch (error) {
          // The client already recorded that the server is unreachable or requires a login.
          if (!(error instanceof ApiError) && !(error instanceof TypeError)) throw error;
        }
      }),
    );
    if (this.polling === undefined || this.socket?.readyState === WebSocket.OPEN) return;
    this.polling = setTimeout(() => void this.poll(), refreshInterval(REFRESH));
  }
}

function subscriptionOf(one: Subscription): object {
  return { topic: one.topic, ...one.params };
}

const push = new Push();

/** The latest state of a topic; undefined until the first answer. */
export function useTopic<T>(topic: TopicName, params: TopicParams): T | undefined {
  const { session, job_id } = params;
  const subscriptionOf = useMemo(
    () => ({ session, ...(job_id !== undefined && { job_id }) }),
    [session, job_id],
  );
  const subscribe = useCallback(
    (listener: () => void) => push.watch(topic, subscriptionOf, listener),
    [topic, subscriptionOf],
  );
  return useSyncExternalStore(subscribe, () => push.read(keyOf(topic, subscriptionOf))) as T | undefined;
}

/** Topic `cluster`: attempts and entities by state. */
export interface ClusterTopic extends Omit<ClusterAnswer, 'session' | 'recording' | 'tasks' | 'libraries'> {
  live: boolean;
  attempts: number;
  states: Record<string, number>;
  stopped_by_libraries: number;
  /** The Ray libraries in use: number of datasets, applications or runs by state. */
  libraries: Partial<Record<LibraryView, Record<string, number>>>;
}

/** Topic `metrics`: state of the collectors and the metrics store. */
export type MetricsTopic = Pick<LatestAnswer, 'left_out' | 'problem' | 'note' | 'collectors'>;

/**
 * Topic `alerts`: the alerts that are firing or pending, or that fired until the session ended. `info` is the
 * number of firing alerts of severity `info`; `items` has the first 100 alerts, firing ones before pending
 * ones. In an ended session nothing fires or is pending.
 */
export type AlertsTopic = Pick<AlertsAnswer, 'live' | 'firing' | 'info' | 'pending' | 'ended' | 'items'>;
