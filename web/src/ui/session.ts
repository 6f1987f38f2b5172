import { useTranslation } from 'react-i18next';
import { useSessions } from '../api/queries';
import type { SessionItem } from '../api/schema';
import { duration, type Nanos, nanosBetween, time } from '../base/format';

/** The duration of a session, from its first task or data until now or its end. */
export const durationText = ({ first_ns, last_ns }: SessionItem) => duration(nanosBetween(first_ns, last_ns));

/** The display name of a session, and a line with its start, duration and host. */
export function useSessionTexts() {
  const { t } = useTranslation();
  const name = (session: SessionItem) => session.name ?? t(`sessions.noJob.${session.state}`);
  const began = (ns: Nanos) => {
    const text = time(ns);
    const minutes = text.replace(/:\d\d$/, '');
    return text.includes(' ') ? minutes : t('sessions.today', { time: minutes });
  };
  const place = (session: SessionItem) =>
    [began(session.first_ns), durationText(session), ...(session.host ? [session.host] : [])].join(' · ');
  return { name, place };
}

/** The session with this Ray session name; undefined until the list is loaded. */
export function useSession(name: string): SessionItem | undefined {
  return useSessions((page) => page.items.find((item) => item.session === name)).data;
}
