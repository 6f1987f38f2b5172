import { useJobNames } from '../api/queries';
import { NamedId, NamedLink } from './NamedId';
import { useSessionUrl } from './useUrl';

/** What people call a job: its script, or else its id. */
export function useJobName(): (id: string) => string {
  const [url] = useSessionUrl();
  const names = useJobNames(url.session).data;
  return (id) => names?.get(id) ?? id;
}

/** A job by its script, its id on hover. */
export function JobName({ id }: { id: string | null }) {
  const name = useJobName();
  return <NamedId id={id} name={name} />;
}

/** The same as the way to its page; `full`: with the id beside it. */
export function JobLink({ id, full }: { id: string; full?: boolean }) {
  const name = useJobName();
  return <NamedLink view="jobs" id={id} name={name(id)} full={full} />;
}
