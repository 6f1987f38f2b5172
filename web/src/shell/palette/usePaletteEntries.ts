import { useTranslation } from 'react-i18next';
import { useFind } from '../../api/find';
import { useSessions, useSummary } from '../../api/queries';
import { count, shortId } from '../../base/format';
import {
  isLibrary,
  LIBRARY_VIEWS,
  placeOf,
  type SessionUrl,
  toForm,
  toView,
  type Url,
  VIEWS,
  withSettings,
} from '../../base/url';
import { useSessionTexts } from '../../ui/session';
import { type Entry, type EntryGroup, hitGroup } from './entries';
import { recentEntries } from './recent';

const MAX_SESSIONS = 5;
const MAX_FAILURES = 3;

/**
 * The entries of the palette for a search text: pages, hits in the session, and other sessions. Without a
 * search text, the recent entries and the latest failures.
 */
export function usePaletteEntries(url: Url, text: string): { groups: EntryGroup[]; isPending: boolean } {
  const { t } = useTranslation();
  const session = url.page === 'session' ? url.session : undefined;
  const wanted = text.trim().toLowerCase();
  const found = useFind(session, text);
  const sessions = useSessions();
  const texts = useSessionTexts();
  const groups: EntryGroup[] = [];
  const failures = useFailureEntries(url);

  const has = (name: string) => name.toLowerCase().includes(wanted);
  if (wanted === '') {
    groups.push({ title: t('palette.recent'), entries: recentEntries(session) });
    groups.push({ title: t('palette.failures'), entries: failures });
  }
  if (url.page === 'session') {
    const pages = [...VIEWS.filter((view) => !isLibrary(view)), ...LIBRARY_VIEWS].filter(
      (view) => has(t(`nav.${view}`)) || has(t(`nav.${placeOf(view)}`)),
    );
    groups.push({
      title: t('palette.pages'),
      entries: pages.map((view) => ({ key: `page ${view}`, name: t(`nav.${view}`), to: toView(url, view) })),
    });
    const isLive = sessions.data?.items.find((one) => one.session === session)?.state === 'live';
    const actions = [
      { name: t('jobs.submit'), view: 'jobs', isOffered: isLive },
      { name: t('alerts.notify'), view: 'alerts', isOffered: true },
    ] as const;
    groups.push({
      title: t('palette.actions'),
      entries: actions
        .filter(({ name, isOffered }) => isOffered && has(name))
        .map(({ name, view }) => ({ key: `action ${view}`, name, to: toForm(url, view) })),
    });
    for (const group of found.groups)
      groups.push(
        hitGroup(
          url,
          group,
          text.trim(),
          t(`palette.kind.${group.kind}`),
          t('palette.all', { n: count(group.total) }),
        ),
      );
  }
  const others = (sessions.data?.items ?? []).filter(
    (one) => one.session !== session && [one.session, texts.name(one), ...one.tags].some(has),
  );
  if (wanted !== '' || session === undefined)
    groups.push({
      title: t('sessions.title'),
      entries: others.slice(0, MAX_SESSIONS).map((one) => ({
        key: `session ${one.session}`,
        name: texts.name(one),
        detail: texts.place(one),
        state: one.state,
        to: { page: 'session', session: one.session, view: 'overview', filters: {}, lang: url.lang },
      })),
    });
  // Last, so that Enter opens what has this name.
  if (url.page === 'session' && wanted !== '')
    groups.push({ title: t('nav.logs'), entries: [logLines(url, text.trim())] });
  return { groups: groups.filter(({ entries }) => entries.length > 0), isPending: found.isPending };

  function logLines(at: SessionUrl, search: string): Entry {
    return {
      key: 'log lines',
      name: t('palette.logLines', { text: search }),
      to: withSettings(toView(at, 'logs'), { search }),
    };
  }
}

/** The latest failed tasks, because most users look for these. */
function useFailureEntries(url: Url): Entry[] {
  const summary = useSummary(url.page === 'session' ? url.session : undefined);
  if (url.page !== 'session') return [];
  return (summary.data?.failures ?? []).slice(0, MAX_FAILURES).map((failure) => ({
    key: `failure ${failure.task_id} ${failure.attempt}`,
    name: failure.name ?? shortId(failure.task_id),
    detail: failure.error_summary ?? failure.error_type ?? '',
    state: 'FAILED',
    to: {
      ...toView(url, 'tasks', { q: failure.task_id }),
      task: failure.task_id,
      attempt: failure.attempt,
    },
  }));
}
