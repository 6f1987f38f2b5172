import { useJobNames } from '../api/queries';
import { NamedId, NamedLink } from './NamedId';
import { useSessionUrl } from './useUrl';

/** A job's display name: its script, otherwise its id. `awaited` is a job whose name is still expected. */
export function useJobName(awaited?: string | null): (id: string) => string {
  const [url] = useSessionUrl();
  const names = useJobNames(url.session, awaited).data;
  return (id) => names?.get(id) ?? id;
}

/** A job shown by its script, with the id on hover. */
export function JobName({ id }: { id: string | null }) {
  const name = useJobName();
  return <NamedId id={id} name={name} />;
}

/** A link to the job's page, labelled with the job's name. With `full`, the id is shown next to it. */
export function JobLink({ id, full }: { id: string; full?: boolean }) {
  const name = useJobName();
  return <NamedLink view="jobs" id={id} name={name(id)} full={full} />;
}
