import { useTranslation } from 'react-i18next';
import { useSessions } from '../api/queries';
import type { Session } from '../api/types';
import { duration, type Nanos, nanosBetween, time } from '../base/format';

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
    [
      began(session.first_ns),
      duration(nanosBetween(session.first_ns, session.last_ns)),
      ...(session.host ? [session.host] : []),
    ].join(' · ');
  return { name, place };
}

/** The session with Ray's name for it; undefined until the list has come. */
export function useSession(name: string): Session | undefined {
  return useSessions((page) => page.items.find((item) => item.session === name)).data;
}
