import { useCallback, useMemo, useSyncExternalStore } from 'react';
import type { LibraryView } from '../base/url';
import type { Alert } from './alerts';
import { ApiError, get } from './client';
import { connectionEvents, REFRESH, refreshInterval } from './connection';
import { merged } from './mergePatch';
import type { LatestAnswer } from './schema';

/**
 * Live push: one socket for all topics of this tab (docs/reference/realtime.md). It comes back by itself and asks
 * again for what is watched; where no socket can be had, the same states are fetched by HTTP.
 */

export type TopicName = 'cluster' | 'metrics' | 'tasks' | 'actors' | 'alerts' | 'job';

export interface TopicParams {
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

interface Watched {
  topic: TopicName;
  params: TopicParams;
  data: unknown;
  /** Whether `data` is what the server had when it last spoke; a change can be applied to nothing else. */
  current: boolean;
  listeners: Set<() => void>;
  leaving?: ReturnType<typeof setTimeout>;
}

/** A page that goes and comes again keeps its topics. ms. */
const LINGER = 1_000;
/** The server says at least every 5 s that it lives. */
const SILENT = 15_000;
const BACK_OFF = [500, 1_000, 2_000, 4_000, 8_000, 15_000];
/** After so many attempts in vain states are fetched by HTTP, while attempts go on. */
const PATIENCE = 2;

export const keyOf = (topic: string, params: TopicParams) =>
  `${topic} ${params.session} ${params.job_id ?? ''}`;

class Push {
  private readonly watched = new Map<string, Watched>();
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
      this.say({ subscribe: [asked(found)] });
    }
    clearTimeout(found.leaving);
    found.listeners.add(listener);
    this.connect();
    const one = found;
    return () => {
      one.listeners.delete(listener);
      if (one.listeners.size > 0) return;
      one.leaving = setTimeout(() => {
        this.watched.delete(key);
        this.say({ unsubscribe: [asked(one)] });
        if (this.watched.size === 0) this.close();
      }, LINGER);
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
    const socket = new WebSocket(`${location.origin.replace(/^http/, 'ws')}/ws/realtime`);
    this.socket = socket;
    let opened = false;
    socket.onopen = () => {
      opened = true;
      this.attempts = 0;
      clearTimeout(this.polling);
      this.polling = undefined;
      this.heard();
      this.say({ acks: true, subscribe: [...this.watched.values()].map(asked) });
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
      // Refused ones may mean a proxy: whether the server is there is then seen by HTTP.
      if (opened) connectionEvents.failed();
      if (this.watched.size === 0) return;
      const pause = BACK_OFF[Math.min(this.attempts, BACK_OFF.length - 1)] ?? 0;
      this.attempts += 1;
      this.retry = setTimeout(() => {
        this.retry = undefined;
        this.connect();
      }, pause);
      if (this.attempts >= PATIENCE && this.polling === undefined) void this.poll();
    };
  }

  private heard(): void {
    connectionEvents.answered();
    clearTimeout(this.silence);
    this.silence = setTimeout(() => this.socket?.close(), SILENT);
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
    const one = this.watched.get(keyOf(message.topic, { session: message.session, ...message.params }));
    if (one === undefined) return;
    if (message.kind === 'state') this.set(one, message.data);
    else if (message.kind === 'change' && one.current) this.set(one, merged(one.data, message.data));
    else one.current = false; // what follows an error is a state
  }

  private set(one: Watched, data: unknown): void {
    one.data = data;
    one.current = true;
    for (const listener of one.listeners) listener();
  }

  private async poll(): Promise<void> {
    this.polling = setTimeout(() => undefined, 0);
    await Promise.all(
      [...this.watched.values()].map(async (one) => {
        try {
          const answer = await get<{ data: unknown }>('/realtime', { topic: one.topic, ...one.params });
          if (this.socket?.readyState !== WebSocket.OPEN) {
            this.set(one, answer.data);
            one.current = false;
          }
        } catch (error) {
          // That it is away, or asks for a log-in, the client has noted.
          if (!(error instanceof ApiError) && !(error instanceof TypeError)) throw error;
        }
      }),
    );
    if (this.polling === undefined || this.socket?.readyState === WebSocket.OPEN) return;
    this.polling = setTimeout(() => void this.poll(), refreshInterval(REFRESH));
  }
}

function asked(one: Watched): object {
  return { topic: one.topic, ...one.params };
}

const push = new Push();

/** What a topic tells of a session now, always the newest; undefined until the first answer. */
export function useTopic<T>(topic: TopicName, params: TopicParams): T | undefined {
  const { session, job_id } = params;
  const asked = useMemo(() => ({ session, ...(job_id !== undefined && { job_id }) }), [session, job_id]);
  const subscribe = useCallback((listener: () => void) => push.watch(topic, asked, listener), [topic, asked]);
  return useSyncExternalStore(subscribe, () => push.read(keyOf(topic, asked))) as T | undefined;
}

/** Attempts and entities by state: topic `cluster`. */
export interface ClusterTopic {
  live: boolean;
  attempts: number;
  states: Record<string, number>;
  stopped_by_libraries: number;
  nodes: { alive: number; dead: number };
  actors: Record<string, number>;
  jobs: Record<string, number>;
  workers: Record<string, number>;
  placement_groups: Record<string, number>;
  /** The sum over the nodes that are alive. */
  resources_total: Record<string, number>;
  /** Those of Ray's libraries that are used: how many of their things are in which state. */
  libraries: Partial<Record<LibraryView, Record<string, number>>>;
}

/** How the collectors and the store of metrics do: of topic `metrics`. */
export type MetricsTopic = Pick<LatestAnswer, 'left_out' | 'problem' | 'note' | 'collectors'>;

/** Topic `alerts`; of an ended session what fired and was pending when it ended. */
export interface AlertsTopic {
  live: boolean;
  /** How many fire, or did when the session ended; `info` of them are only of that severity. */
  firing: number;
  info: number;
  pending: number;
  /** The first 100, what fires before what is pending. */
  items: Alert[];
}
