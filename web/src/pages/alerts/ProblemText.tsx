import type { ServerMessage } from '../../base/serverMessage';
import { useServerMessage } from '../../ui/useServerMessage';
import shared from './alerts.module.css';

/** A problem and its remedy in one line. */
export function ProblemText({ of }: { of: ServerMessage }) {
  return <span className={shared.error}>{useServerMessage()(of).line}</span>;
}
