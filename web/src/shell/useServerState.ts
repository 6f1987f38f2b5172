import { type Connection, isSilent, STALE_AFTER, useConnection } from '../api/connection';
import { useNow } from '../ui/useNow';

type ServerState = 'connecting' | 'connected' | 'reconnecting' | 'stale';

/**
 * The state of the server, the age of its last answer (ms), and when that answer arrived (ms since the
 * epoch).
 */
export function useServerState(): { state: ServerState; age: number | null; lastAnswer: number | null } {
  const now = useNow();
  const state = useConnection((connection) => serverState(connection, now));
  const lastAnswer = useConnection((connection) => connection.lastAnswer);
  return { state, age: lastAnswer === null ? null : Math.max(0, now - lastAnswer), lastAnswer };
}

function serverState(connection: Connection, now: number): ServerState {
  const { lastAnswer, failures } = connection;
  if (failures === 0 && !isSilent(connection, now)) return lastAnswer === null ? 'connecting' : 'connected';
  return lastAnswer === null || now - lastAnswer > STALE_AFTER ? 'stale' : 'reconnecting';
}
