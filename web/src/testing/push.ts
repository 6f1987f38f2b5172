import { vi } from 'vitest';

/** The states that the server pushes, by session. */
const states: Record<string, object> = {};

/** The server's end of the live updates. It sends the same state for each topic of a session. */
class Socket {
  static OPEN = 1;
  readyState = Socket.OPEN;
  onopen: () => void = () => undefined;
  onmessage: (event: { data: string }) => void = () => undefined;

  constructor() {
    queueMicrotask(() => this.onopen());
  }

  send(text: string): void {
    const { subscribe = [] } = JSON.parse(text) as { subscribe?: { topic: string; session: string }[] };
    for (const { topic, session } of subscribe) {
      const message = { kind: 'state', topic, session, seq: 1, data: states[session] };
      queueMicrotask(() => this.onmessage({ data: JSON.stringify(message) }));
    }
  }

  close(): void {}
}

/** Pushes a state, and returns its session: a new one, because subscriptions outlive a test for a moment. */
export function push(state: object): string {
  const session = `pushed_${Object.keys(states).length}`;
  states[session] = { session, ...state };
  vi.stubGlobal('WebSocket', Socket);
  return session;
}
