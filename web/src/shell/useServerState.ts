import { useEffect, useState } from 'react';
import { isSilent, STALE_AFTER, useConnection } from '../api/connection';

export type ServerState = 'connecting' | 'connected' | 'reconnecting' | 'stale';

/** Now, every second: for ages that count up while nothing arrives. */
function useNow(): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  return now;
}

/** How the server is, how old its last answer is (ms), and when that came (ms since the epoch). */
export function useServerState(): { state: ServerState; age: number | null; lastAnswer: number | null } {
  const connection = useConnection();
  const { lastAnswer, failures } = connection;
  const now = useNow();
  const age = lastAnswer === null ? null : Math.max(0, now - lastAnswer);
  if (failures === 0 && !isSilent(connection, now))
    return { state: lastAnswer === null ? 'connecting' : 'connected', age, lastAnswer };
  return { state: age === null || age > STALE_AFTER ? 'stale' : 'reconnecting', age, lastAnswer };
}
