import type { ClusterEvent, EventKind, Severity } from '../api/jobs';
import { headline } from '../base/format';
import type { Tone } from '../base/tokens';
import { type EntityView, type SessionUrl, toItem, toView, type Url } from '../base/url';

export const SEVERITY_TONES: Record<Severity, Tone> = { ERROR: 'bad', WARNING: 'waiting', INFO: 'quiet' };

const VIEW_BY_EVENT: Partial<Record<EventKind, EntityView>> = {
  node: 'nodes',
  worker: 'workers',
  actor: 'actors',
  job: 'jobs',
  placement_group: 'placement-groups',
};

/**
 * The page about the subject of an event. For a failed task, whose `id` is a function, it is the list of
 * failures.
 */
export function placeOf(url: SessionUrl, event: ClusterEvent): Url | undefined {
  const { id, job_id } = event;
  if (event.kind === 'task')
    return toView(url, 'failures', { ...(id && { func_name: id }), ...(job_id && { job_id }) });
  if (event.kind === 'dataset') return id === null ? undefined : { ...toView(url, 'data'), item: id };
  const view = VIEW_BY_EVENT[event.kind];
  return view === undefined || id === null ? undefined : toItem(url, view, id);
}

/** Length at which the server cuts messages, characters. */
const MESSAGE_CHARS = 2000;

/**
 * A message in one line: the line of a traceback that names the exception. If the server cut the message,
 * this line is missing, so the message is returned as it is.
 */
export function oneLineMessage({ message }: ClusterEvent): string {
  const text = message ?? '';
  return text.length < MESSAGE_CHARS ? headline(text) : text;
}
