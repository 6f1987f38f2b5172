import { ActionIcon, Button, Tooltip } from '@mantine/core';
import { IconCode, IconX } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import type { FramesAnswer, PausedTask } from '../../api/schema';
import { fullTime, shortId } from '../../base/format';
import { Command } from '../../ui/Command';
import { Section } from '../../ui/Drawer';
import { ErrorPanel } from '../../ui/ErrorPanel';
import { placeOf, useCodeName } from '../../ui/frames';
import { Link } from '../../ui/Link';
import { Prose } from '../../ui/Prose';
import { TaskState } from '../../ui/TaskState';
import { isDriver } from '../../ui/taskColumns';
import words from '../../ui/theme/words.module.css';
import { useServerMessage } from '../../ui/useServerMessage';
import { useSessionUrl } from '../../ui/useUrl';
import { legacyCommand, sourcePlace } from './attach';
import { type Caller, useCallers, useWorkerFrames } from './callers';
import css from './debugger.module.css';
import { PausedButtons } from './PausedButtons';
import { isLegacy, isTraced, type LegacyTask } from './traced';
import type { PausedActions } from './usePausedActions';
import { useTaskName } from './useTaskName';

/** The selected task, with the chain of its callers. */
export function PausedDetail({ task, actions }: { task: PausedTask; actions: PausedActions }) {
  const { t } = useTranslation();
  const [, change] = useSessionUrl();
  const name = useTaskName()(task);
  const { data, error, refetch } = useCallers(task.session, task.task_id);
  return (
    <div className={css.detail} data-testid="paused-detail">
      <Section
        title={<span className={words.breaks}>{name}</span>}
        right={
          <>
            <PausedButtons task={task} actions={actions} withText />
            <Tooltip label={t('common.close')}>
              <ActionIcon
                size={24}
                aria-label={t('common.close')}
                onClick={() => change((before) => ({ ...before, item: undefined }), { replace: true })}
              >
                <IconX size={15} />
              </ActionIcon>
            </Tooltip>
          </>
        }
      >
        {isLegacy(task) && <LegacyHint task={task} />}
        {!isTraced(task) && !isLegacy(task) && (
          <p className={`${words.line} ${words.dim}`}>{t('debugger.untraced')}</p>
        )}
        {task.error !== null && <pre className={words.pre}>{task.legacy?.traceback ?? task.error}</pre>}
        {error !== null && data === undefined && <ErrorPanel error={error} onRetry={() => void refetch()} />}
        {data?.callers.length === 0 && !task.is_driver && (
          <p className={`${words.line} ${words.dim}`}>{t('debugger.noCallers')}</p>
        )}
        {data !== undefined && data.callers.length > 0 && (
          <>
            <p className={`${words.line} ${words.dim}`}>{t('debugger.callersText')}</p>
            <ol className={css.callers}>
              {data.isCut && <li className={words.dim}>{t('debugger.tooDeep')}</li>}
              {data.callers.map((caller) => (
                <CallerLine key={caller.task_id} caller={caller} session={task.session} />
              ))}
              <li>
                <b className={words.breaks}>{name}</b>{' '}
                <span className={`${words.mono} ${words.dim} ${words.breaks}`}>{sourcePlace(task)}</span>{' '}
                <span className={words.dim}>{t('debugger.here')}</span>
              </li>
            </ol>
          </>
        )}
      </Section>
    </div>
  );
}

/** How to attach to a task that waits for Ray's legacy debugger, or when its process ended. */
function LegacyHint({ task }: { task: LegacyTask }) {
  const { t } = useTranslation();
  const { address, ended_ns } = task.legacy;
  if (task.state === 'gone')
    return (
      <p className={words.line}>
        <Prose text={t('debugger.legacyGone', { time: fullTime(ended_ns) || t('common.unknown') })} />
      </p>
    );
  return (
    <>
      <p className={words.line}>
        <Prose text={t(address?.startsWith('localhost:') ? 'debugger.legacyLocal' : 'debugger.legacy')} />
      </p>
      <div className={css.command}>
        <Command>{legacyCommand(task)}</Command>
      </div>
    </>
  );
}

function CallerLine({ caller, session }: { caller: Caller; session: string }) {
  const { t } = useTranslation();
  const [url] = useSessionUrl();
  return (
    <li data-testid="caller">
      <span className={css.caller}>
        <Link
          to={{ ...url, task: caller.task_id, attempt: undefined }}
          className={`${words.link} ${words.breaks}`}
        >
          {isDriver(caller.task_id) ? t('task.driver') : (caller.name ?? shortId(caller.task_id))}
        </Link>
        <TaskState state={caller.state} />
      </span>
      {caller.worker_id !== null && <WorkerFrames session={session} workerId={caller.worker_id} />}
      {caller.worker_id === null && !caller.has_ended && (
        <span className={`${words.dim} ${words.small}`}>{t('debugger.noSampling')}</span>
      )}
    </li>
  );
}

/** A button that samples the frames of a worker, and what it found. */
function WorkerFrames({ session, workerId }: { session: string; workerId: string }) {
  const { t } = useTranslation();
  const frames = useWorkerFrames(session, workerId);
  return (
    <>
      <Button
        size="compact-xs"
        variant="default"
        leftSection={<IconCode size={14} aria-hidden />}
        loading={frames.isPending}
        onClick={() => frames.mutate()}
        data-testid="caller-frames"
      >
        {t('debugger.takeFrames')}
      </Button>
      {frames.error !== null && <ErrorPanel error={frames.error} />}
      {frames.data !== undefined && <FrameList frames={frames.data} />}
    </>
  );
}

function FrameList({ frames }: { frames: FramesAnswer }) {
  const nameOf = useCodeName();
  const translate = useServerMessage();
  return (
    <>
      {frames.problems.map((problem) => {
        const { message, remedy } = translate(problem);
        return (
          <p key={problem.code} className={css.problem}>
            <b>{message}</b> <Prose text={remedy} />
          </p>
        );
      })}
      <ol className={css.frames}>
        {frames.nodes.flatMap((node) =>
          node.frames.map((frame) => (
            <li
              key={`${node.node} ${frame.id}`}
              className={words.ellipsis}
              title={`${nameOf(frame)}\n${placeOf(frame)}`}
            >
              {nameOf(frame)} <span className={`${words.mono} ${words.dim}`}>{placeOf(frame)}</span>
            </li>
          )),
        )}
      </ol>
    </>
  );
}
