import { IconPlayerPauseFilled } from '@tabler/icons-react';
import { type ReactNode, useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { useTopic } from '../api/realtime';
import type { PausedTask, PausedTasks } from '../api/schema';
import { toView } from '../base/url';
import { Link } from './Link';
import css from './PausedMark.module.css';
import { useSessionUrl } from './useUrl';

/**
 * The tasks that wait for a debugger. Those of processes without a tracer are left out, because it is not
 * known which of the process's tasks waits.
 */
export function usePausedTasks(): readonly PausedTask[] {
  const [url] = useSessionUrl();
  // The navigation has subscribed to it already.
  const paused = useTopic<PausedTasks>('debugger', { session: url.session });
  return useMemo(() => paused?.items.filter((task) => keyOf(task) && task.state !== 'gone') ?? [], [paused]);
}

/** Identifies a paused task on the debugger page; undefined if its process has no tracer. */
const keyOf = (task: PausedTask) => task.pause_id ?? task.legacy?.key;

/** A pause sign if there are `tasks`, which links to them on the debugger page. */
export function PausedMark(props: { tasks: readonly PausedTask[]; testId?: string; children?: ReactNode }) {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  const [first, ...others] = props.tasks;
  if (first === undefined) return null;
  const page = toView(url, 'debugger');
  const item = others.length === 0 ? keyOf(first) : undefined;
  return (
    <Link
      to={item === undefined ? page : { ...page, item }}
      className={css.mark}
      title={t('debugger.pausedHint')}
      testId={props.testId ?? 'paused-mark'}
    >
      <IconPlayerPauseFilled aria-hidden />
      {props.children}
    </Link>
  );
}
