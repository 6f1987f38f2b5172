import { Alert, Button, Group } from '@mantine/core';
import { IconBug, IconPlayerPlay, IconRefresh } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { send } from '../../api/client';
import type { Frame, PausedStack } from '../../api/schema';
import { Dialog } from '../../ui/Dialog';
import { EmptyState } from '../../ui/EmptyState';
import { ErrorPanel } from '../../ui/ErrorPanel';
import words from '../../ui/theme/words.module.css';
import { sourcePlace } from './attach';
import css from './debugger.module.css';
import { Source } from './Source';
import type { TracedTask } from './traced';
import { pathOf } from './usePausedActions';
import { useTaskName } from './useTaskName';
import { Variables } from './Variables';

/** The frame at which the task paused: other threads of its process may be stopped, too. */
function pausedFrame(task: TracedTask, stack: PausedStack): Frame | undefined {
  const frames = stack.threads.flatMap((thread) => thread.frames);
  return frames.find((frame) => frame.file === task.file && frame.function === task.function) ?? frames[0];
}

/** The stack of a paused task, with the source and the variables of the chosen frame. */
export function LookDialog(props: {
  task: TracedTask;
  stack: PausedStack;
  /** Whether the task has continued. */
  isGone: boolean;
  onClose: () => void;
}) {
  const { task, isGone, onClose } = props;
  const { t } = useTranslation();
  const name = useTaskName()(task);
  const [stack, setStack] = useState(props.stack);
  const [loads, setLoads] = useState(0);
  const [chosen, setChosen] = useState(() => pausedFrame(task, props.stack));
  const reload = useMutation({
    mutationFn: () => send<PausedStack>('POST', pathOf(task, 'stack')),
    onSuccess(loaded) {
      if (loaded === null) return;
      setStack(loaded);
      setLoads(loads + 1);
      setChosen(pausedFrame(task, loaded));
    },
  });
  const resume = useMutation({ mutationFn: () => send('POST', pathOf(task, 'release')), onSuccess: onClose });
  const error = reload.error ?? resume.error;
  return (
    <Dialog
      onClose={onClose}
      title={t('debugger.lookAt', { name, place: sourcePlace(task) ?? t('debugger.noPlace') })}
      size="min(1240px, 96vw)"
      centered
      data-testid="look"
    >
      <Alert className={css.note} data-testid="look-note">
        <Group justify="space-between" gap="sm">
          <span className={css.noteText}>{isGone ? t('debugger.goneText') : t('debugger.lookNote')}</span>
          <Group gap={8}>
            <Button
              size="compact-sm"
              variant="default"
              leftSection={<IconRefresh size={15} aria-hidden />}
              disabled={isGone}
              loading={reload.isPending}
              onClick={() => reload.mutate()}
              data-testid="look-reload"
            >
              {t('debugger.reload')}
            </Button>
            <Button
              size="compact-sm"
              leftSection={<IconPlayerPlay size={15} aria-hidden />}
              disabled={isGone}
              loading={resume.isPending}
              onClick={() => resume.mutate()}
              data-testid="look-continue"
            >
              {t('debugger.continue')}
            </Button>
          </Group>
        </Group>
      </Alert>
      {error !== null && <ErrorPanel error={error} />}
      {isGone ? (
        <EmptyState icon={<IconBug size={26} />} title={t('debugger.gone')} />
      ) : (
        <div className={css.look}>
          <Stack stack={stack} chosen={chosen} onChoose={setChosen} />
          <div className={css.inFrame}>
            {chosen !== undefined && (
              // A debugger numbers its frames anew at each stop.
              <FrameParts key={`${loads} ${chosen.frame_id}`} task={task} frame={chosen} />
            )}
          </div>
        </div>
      )}
    </Dialog>
  );
}

function Stack(props: { stack: PausedStack; chosen: Frame | undefined; onChoose: (frame: Frame) => void }) {
  const { stack, chosen } = props;
  const { t } = useTranslation();
  return (
    <nav className={css.stack} aria-label={t('debugger.frames')}>
      {stack.threads.length === 0 && <p className={words.dim}>{t('debugger.noFrames')}</p>}
      {stack.threads.map((thread, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: threads may share a name.
        <section key={at}>
          <h3 className={`${css.thread} ${words.ellipsis}`} title={thread.name}>
            {t('frames.thread', { name: thread.name || t('common.unknown') })}
          </h3>
          {thread.frames.map((frame) => (
            <button
              key={frame.frame_id}
              type="button"
              className={css.frame}
              aria-current={frame.frame_id === chosen?.frame_id}
              title={`${frame.function}\n${frame.file ?? ''}:${frame.line}`}
              onClick={() => props.onChoose(frame)}
              data-testid="look-frame"
            >
              <span className={words.ellipsis}>{frame.function}</span>
              <span className={`${words.ellipsis} ${words.mono} ${words.dim}`}>{sourcePlace(frame)}</span>
            </button>
          ))}
        </section>
      ))}
    </nav>
  );
}

function FrameParts({ task, frame }: { task: TracedTask; frame: Frame }) {
  const { t } = useTranslation();
  return (
    <>
      <Source task={task} frame={frame} />
      <h3 className={css.head}>{t('debugger.variables')}</h3>
      <Variables task={task} frameId={frame.frame_id} />
    </>
  );
}
