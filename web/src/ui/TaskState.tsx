import { useTranslation } from 'react-i18next';
import { unscheduled } from '../base/scheduling';
import { stateColor } from '../base/tokens';
import { Dot } from './Dot';
import words from './theme/words.module.css';
import { useStateName } from './useStateName';

/**
 * A task's state in the user's language, with Ray's own name on hover and a note if the attempt was never
 * scheduled.
 */
export function TaskState({ state, of }: { state: string | null; of?: Parameters<typeof unscheduled>[0] }) {
  const { t } = useTranslation();
  const name = useStateName();
  const title = [state, state === 'CUT_OFF' && of && unscheduled(of) && t('task.neverScheduled')];
  return (
    <span className={words.state} title={title.filter(Boolean).join('\n') || undefined}>
      <Dot color={stateColor(state)} />
      <span className={words.ellipsis}>{name(state)}</span>
    </span>
  );
}
