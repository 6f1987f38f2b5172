import { useTranslation } from 'react-i18next';
import { useSessions } from '../api/queries';
import type { Session } from '../api/types';
import { duration, type Nanos, nanosBetween, time } from '../base/format';

/** How long a session has lasted, or lasted: from the first that was heard of it to its end. */
export const lastedText = ({ first_ns, last_ns }: Session) => duration(nanosBetween(first_ns, last_ns));

/** What people call a session, and when, how long and where it ran. */
export function useSessionTexts() {
  const { t } = useTranslation();
  const name = (session: Session) => session.name ?? t(`sessions.noJob.${session.state}`);
  const began = (ns: Nanos) => {
    const text = time(ns);
    const minutes = text.replace(/:\d\d$/, '');
    return text.includes(' ') ? minutes : t('sessions.today', { time: minutes });
  };
  const place = (session: Session) =>
    [began(session.first_ns), lastedText(session), ...(session.host ? [session.host] : [])].join(' · ');
  return { name, place };
}

/** The session with Ray's name for it; undefined until the list has come. */
export function useSession(name: string): Session | undefined {
  return useSessions((page) => page.items.find((item) => item.session === name)).data;
}
