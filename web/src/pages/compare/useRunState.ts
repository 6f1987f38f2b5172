import { useMemo, useState } from 'react';
import type { ComparedRun } from '../../api/schema';
import type { SessionUrl } from '../../base/url';
import type { SessionState } from '../../ui/useUrl';

/** The state of a picture of one run, which the address does not hold. */
export function useRunState({ session, job_id: job }: ComparedRun, view: SessionUrl['view']): SessionState {
  const [url, change] = useState<SessionUrl>(() => ({
    page: 'session',
    session,
    view,
    filters: job ? { job_id: job } : {},
  }));
  return useMemo(() => [url, change] as const, [url]);
}
