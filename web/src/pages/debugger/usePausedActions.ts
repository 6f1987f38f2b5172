import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { PausedStack } from '../../api/schema';
import { useOperatorAction } from '../../ui/operator';
import type { TracedTask } from './traced';
import { useTaskName } from './useTaskName';

/** The dialog that is open. */
export type Opened =
  | { kind: 'attach'; task: TracedTask }
  | { kind: 'look'; task: TracedTask; stack: PausedStack };

export interface PausedActions {
  /** Whether the server lets debuggers in. */
  isEnabled: boolean;
  attach: (task: TracedTask) => void;
  look: (task: TracedTask) => Promise<void>;
  release: (task: TracedTask) => Promise<void>;
}

/** The address of an action on a paused task. */
export const pathOf = (task: TracedTask, action: 'release' | 'stack' | 'variables' | 'source') =>
  `/paused-tasks/${task.pause_id}/${action}`;

/** The actions on a paused task. The last two need the operator role. */
export function usePausedActions(isEnabled: boolean, setOpened: (opened: Opened) => void): PausedActions {
  const act = useOperatorAction();
  const { t } = useTranslation();
  const nameOf = useTaskName();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the texts change with `t` alone.
  return useMemo(
    () => ({
      isEnabled,
      attach: (task) => setOpened({ kind: 'attach', task }),
      async look(task) {
        const stack = await act<PausedStack>({
          method: 'POST',
          path: pathOf(task, 'stack'),
          title: nameOf(task),
          text: t('debugger.lookText'),
          confirm: t('debugger.look'),
        });
        if (stack) setOpened({ kind: 'look', task, stack });
      },
      async release(task) {
        await act({
          method: 'POST',
          path: pathOf(task, 'release'),
          title: t('debugger.releaseTitle', { name: nameOf(task) }),
          text: t('debugger.releaseText'),
          confirm: t('debugger.releaseIt'),
        });
      },
    }),
    [act, t, isEnabled],
  );
}
