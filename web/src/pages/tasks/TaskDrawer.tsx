import { Box, SegmentedControl, Skeleton } from '@mantine/core';
import { useCallback } from 'react';
import { useTranslation } from 'react-i18next';
import { isMissing } from '../../api/client';
import { useTask } from '../../api/queries';
import { shortId } from '../../base/format';
import { stateColor } from '../../base/tokens';
import { CopyId } from '../../ui/CopyId';
import { Dot } from '../../ui/Dot';
import { Drawer } from '../../ui/Drawer';
import { Duration } from '../../ui/Duration';
import { ErrorPanel } from '../../ui/ErrorPanel';
import { PausedMark, usePausedTasks } from '../../ui/PausedMark';
import { TaskState } from '../../ui/TaskState';
import { isDriver } from '../../ui/taskColumns';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import { AttemptView } from './AttemptView';
import css from './TaskDrawer.module.css';

export function TaskDrawer({ taskId }: { taskId: string }) {
  const [url, change] = useSessionUrl();
  const { t } = useTranslation();
  const task = useTask(url.session, taskId);
  const paused = usePausedTasks();
  const close = useCallback(
    () => change((before) => ({ ...before, task: undefined, attempt: undefined, wide: undefined })),
    [change],
  );
  const attempts = task.data?.attempts ?? [];
  const attempt =
    attempts.find((candidate) => candidate.attempt === url.attempt) ?? attempts[attempts.length - 1];
  return (
    <Drawer
      testId="task-drawer"
      title={
        <span className={words.breaks}>
          {isDriver(taskId)
            ? t('type.DRIVER_TASK')
            : (attempt?.name ?? attempt?.func_name ?? shortId(taskId))}
        </span>
      }
      subtitle={
        attempt && (
          <>
            <TaskState state={attempt.state} of={attempt} />
            {attempt.duration_ns !== null && <Duration ns={attempt.duration_ns} />}
            <PausedMark
              tasks={paused.filter((one) => one.task_id === taskId && one.attempt === attempt.attempt)}
              testId="task-paused"
            >
              {t('debugger.paused')}
            </PausedMark>
            <CopyId id={taskId} />
          </>
        )
      }
      onClose={close}
    >
      {task.data === undefined && task.error !== null && (
        <ErrorPanel
          error={task.error}
          title={isMissing(task.error) ? t('task.missing') : undefined}
          onRetry={() => void task.refetch()}
        />
      )}
      {task.isPending && task.error === null && (
        <Box px={18} py={14}>
          {[90, 70, 80, 50, 65].map((width) => (
            <Skeleton key={width} height={12} width={`${width}%`} mb={12} />
          ))}
        </Box>
      )}
      {task.data && attempt && (
        <>
          {attempts.length > 1 && (
            <div className={css.attempts}>
              <SegmentedControl
                size="xs"
                aria-label={t('task.attemptsOf')}
                data-testid="attempt-tabs"
                value={String(attempt.attempt)}
                onChange={(value) =>
                  change((before) => ({ ...before, attempt: Number(value) }), { replace: true })
                }
                data={attempts.map((each) => ({
                  value: String(each.attempt),
                  label: (
                    <span className={words.state}>
                      <Dot color={stateColor(each.state)} />
                      {t('task.attemptOf', { n: each.attempt + 1, of: (attempts.at(-1)?.attempt ?? 0) + 1 })}
                    </span>
                  ),
                }))}
              />
            </div>
          )}
          <AttemptView task={task.data} attempt={attempt} />
        </>
      )}
    </Drawer>
  );
}
