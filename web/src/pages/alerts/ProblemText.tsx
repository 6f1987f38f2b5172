import type { ServerMessage } from '../../base/serverMessage';
import { usePunctuation } from '../../ui/usePunctuation';
import { useServerMessage } from '../../ui/useServerMessage';
import shared from './alerts.module.css';

/** A problem and its remedy in one line. */
export function ProblemText({ of }: { of: ServerMessage }) {
  const { gap } = usePunctuation();
  const { message, remedy } = useServerMessage()(of);
  return (
    <span className={shared.error}>
      {message}
      {gap}
      {remedy}
    </span>
  );
}
