import { Button, Skeleton, Text } from '@mantine/core';
import { IconFilterX, IconTelescope, IconTrash } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { useCallback, useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useFoundSessions, useSessions } from '../../api/queries';
import type { SessionItem } from '../../api/schema';
import { count } from '../../base/format';
import type { SessionsUrl } from '../../base/url';
import { useTitle } from '../../shell/useTitle';
import { Command } from '../../ui/Command';
import { EmptyState } from '../../ui/EmptyState';
import { ErrorPanel } from '../../ui/ErrorPanel';
import { useOperatorAction } from '../../ui/operator';
import { CompareButton } from '../../ui/runs/CompareButton';
import { useSessionTexts } from '../../ui/session';
import { Toolbar } from '../../ui/Toolbar';
import { TopPage } from '../../ui/TopPage';
import { sortRows } from '../../ui/table/columns';
import { DataTable } from '../../ui/table/DataTable';
import { TableCount } from '../../ui/table/TableCount';
import { TableMenu, useColumnChoice } from '../../ui/table/TableMenu';
import words from '../../ui/theme/words.module.css';
import { useServerMessage } from '../../ui/useServerMessage';
import { go, useUrl } from '../../ui/useUrl';
import { OpenFileButton, useFileDrop, useOpenFile } from './OpenFile';
import { SessionActions } from './SessionMenu';
import css from './SessionsPage.module.css';
import { sessionColumns } from './sessionColumns';
import { hasOutcome, isElsewhere, keyOf, OUTCOMES, pathOf, sortValue, toSession } from './sessions';

const NONE: SessionItem[] = [];

export function SessionsPage() {
  const url = useUrl();
  return url.page === 'sessions' ? <Sessions url={url} /> : null;
}

function Sessions({ url }: { url: SessionsUrl }) {
  const { t, i18n } = useTranslation();
  const { q = '', outcome } = url.filters;
  const [tickedIds, setTicked] = useState<readonly string[]>([]);
  const { lang, sort } = url;
  const { name: nameOf } = useSessionTexts();
  const problemOf = useSessionProblem();
  const all = useSessions().data?.items ?? NONE;
  const sessions = useFoundSessions(q);
  const items = sessions.data?.items;
  const leftOut = (sessions.data?.total ?? 0) - (items?.length ?? 0);
  const rows = useMemo(() => {
    const shown = (items ?? NONE).filter((one) => outcome === undefined || hasOutcome(one, outcome));
    return sortRows(shown, sort, sortValue);
  }, [items, outcome, sort]);
  // Only the sessions that are loaded have outcomes.
  const total = leftOut > 0 && outcome === undefined ? (sessions.data?.total ?? rows.length) : rows.length;
  const ticked = all.filter(({ session }) => tickedIds.includes(session));
  const oldestFirst = ticked
    .filter(({ state, jobs }) => state !== 'unreadable' && jobs > 0)
    .sort((one, other) => Number(one.first_ns) - Number(other.first_ns))
    .map(({ session }) => session);
  const outcomes = OUTCOMES.map((value) => ({ value, label: t(`sessions.outcomes.${value}`) }));
  const tick = useCallback(({ session }: SessionItem) => setTicked((before) => toggled(before, session)), []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the texts change with the language alone.
  const columns = useMemo(
    () => sessionColumns({ t, lang, nameOf, problemOf, ticked: new Set(tickedIds), onTick: tick }),
    [t, i18n.language, lang, tickedIds],
  );
  const choice = useColumnChoice('sessions', columns, rows);
  const openFile = useOpenFile();
  const { isOver, handlers } = useFileDrop(openFile);
  useTitle(t('sessions.title'));
  return (
    <TopPage
      title={t('sessions.title')}
      intro={t('app.tagline')}
      data-whole
      actions={
        <>
          {ticked.length > 0 && (
            <>
              <CompareButton ticked={oldestFirst} />
              <DeleteButton ticked={ticked} onDone={() => setTicked([])} />
            </>
          )}
          <OpenFileButton onFile={openFile} />
        </>
      }
      {...handlers}
    >
      {isOver && (
        <div className={css.drop} data-testid="sessions-drop">
          {t('sessions.file.drop')}
        </div>
      )}
      {sessions.error !== null && items === undefined && (
        <ErrorPanel error={sessions.error} onRetry={() => void sessions.refetch()} />
      )}
      {sessions.isPending && [0, 1, 2].map((at) => <Skeleton key={at} height={34} mb={8} radius="sm" />)}
      {items?.length === 0 && q === '' && <NoSessions />}
      {items !== undefined && (items.length > 0 || q !== '') && (
        <>
          <Toolbar
            search={t('sessions.search')}
            fields={[{ name: 'outcome', label: t('sessions.outcome'), choices: outcomes }]}
            count={<TableCount list={{ total }} />}
            menu={<TableMenu name="sessions" columns={columns} choice={choice} list={{ rows, total }} />}
          />
          <DataTable
            testId="session-table"
            rowTestId="session-row"
            kindOf={({ state }) => state}
            label={t('sessions.title')}
            columns={columns}
            visibility={choice.visibility}
            rows={rows}
            keyOf={keyOf}
            maxRows={Infinity}
            onTick={tick}
            actions={(session) => <SessionActions session={session} />}
            sort={sort}
            onSort={(next) => go({ ...url, sort: next })}
            linkOf={(one) => (one.state === 'unreadable' ? undefined : toSession(one, lang))}
            empty={<EmptyState icon={<IconFilterX size={26} />} title={t('sessions.noneFound')} />}
          />
        </>
      )}
      {leftOut > 0 && (
        <p className={words.dim}>
          {t('sessions.more', { shown: count(items?.length), total: count(sessions.data?.total) })}
        </p>
      )}
    </TopPage>
  );
}

const toggled = (ticked: readonly string[], session: string) =>
  ticked.includes(session) ? ticked.filter((other) => other !== session) : [...ticked, session];

/** Deletes the ticked sessions, one after the other. */
function DeleteButton({ ticked, onDone }: { ticked: readonly SessionItem[]; onDone: () => void }) {
  const { t } = useTranslation();
  const { name, place } = useSessionTexts();
  const act = useOperatorAction();
  const client = useQueryClient();
  async function remove() {
    const done = await act({
      method: 'DELETE',
      path: ticked.map(pathOf),
      title: t('sessions.deleteMany', { n: ticked.length }),
      text: (
        <>
          <ul className={css.listed}>
            {ticked.map((session) => (
              <li key={session.session} title={session.session}>
                {name(session)} <span className={words.dim}>{place(session)}</span>
              </li>
            ))}
          </ul>
          {t('sessions.deleteText')} {ticked.some(isElsewhere) && t('sessions.deleteArchived')}
        </>
      ),
      confirm: t('sessions.delete'),
      danger: true,
    });
    if (done !== undefined) onDone();
    await client.invalidateQueries();
  }
  return (
    <Button
      size="xs"
      variant="default"
      leftSection={<IconTrash size={15} />}
      onClick={() => void remove()}
      data-testid="sessions-delete"
    >
      {t('sessions.delete')}
    </Button>
  );
}

function NoSessions() {
  const { t } = useTranslation();
  return (
    <div className={css.nothing} data-testid="sessions-empty">
      <EmptyState icon={<IconTelescope size={32} />} title={t('sessions.empty.title')}>
        {t('sessions.empty.text')}
      </EmptyState>
      {(
        [
          ['run', 'rayscope run SCRIPT.py'],
          ['attach', 'rayscope attach ADDRESS'],
          ['start', 'rayscope start -- --head'],
        ] as const
      ).map(([way, command]) => (
        <div key={way} className={css.way}>
          <Text size="sm">{t(`sessions.empty.${way}`)}</Text>
          <Command>{command}</Command>
        </div>
      ))}
    </div>
  );
}

/** Why a session cannot be read, in the user's language. */
function useSessionProblem(): (session: SessionItem) => string {
  const { t } = useTranslation();
  const translate = useServerMessage();
  return (session) => {
    if (session.problem === null) return session.error ?? t('error.session');
    return translate(session.problem).line;
  };
}
