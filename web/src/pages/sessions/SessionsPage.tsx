import { Button, Group, Select, Skeleton, Text, TextInput, Title } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { IconFilterX, IconGitCompare, IconSearch, IconTelescope, IconTrash } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useFoundSessions, useSessions } from '../../api/queries';
import { useRecentRuns } from '../../api/runs';
import type { SessionItem } from '../../api/schema';
import { count } from '../../base/format';
import { sorted } from '../../base/sorted';
import { MAX_COMPARED } from '../../base/url';
import { useTitle } from '../../shell/useTitle';
import { Command } from '../../ui/Command';
import { EmptyState } from '../../ui/EmptyState';
import { ErrorPanel } from '../../ui/ErrorPanel';
import { useOperatorAction } from '../../ui/operator';
import { useSessionTexts } from '../../ui/session';
import type { Column } from '../../ui/table/columns';
import { DataTable } from '../../ui/table/DataTable';
import { type ColumnChoice, TableMenu, useColumnChoice } from '../../ui/table/TableMenu';
import layout from '../../ui/theme/layout.module.css';
import words from '../../ui/theme/words.module.css';
import { useServerMessage } from '../../ui/useServerMessage';
import { go, useUrl } from '../../ui/useUrl';
import {
  FIELDS,
  hasOutcome,
  isElsewhere,
  keyOf,
  OUTCOMES,
  type Outcome,
  pathOf,
  type SessionEntry,
  toEntries,
  toSession,
} from './entries';
import { OpenFileButton, useFileDrop, useOpenFile } from './OpenFile';
import { SessionActions } from './SessionMenu';
import css from './SessionsPage.module.css';
import { sessionColumns } from './sessionColumns';

const NONE: readonly SessionItem[] = [];
/** Minimum number of sessions for which a filter is shown. */
const MIN_FILTERABLE = 5;
/** Delay between the last keystroke and the update of the filter, ms. */
const PAUSE = 250;

export function SessionsPage() {
  const { t } = useTranslation();
  const [typed, setTyped] = useState('');
  const [q] = useDebouncedValue(typed.trim(), PAUSE);
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  const [tickedIds, setTicked] = useState<readonly string[]>([]);
  const { lang } = useUrl();
  const { name: nameOf } = useSessionTexts();
  const problemOf = useSessionProblem();
  const all = useSessions().data?.items ?? NONE;
  const sessions = useFoundSessions(q);
  const items = sessions.data?.items;
  const rows = useSessionRows(items ?? NONE, outcome);
  const ticked = all.filter(({ session }) => tickedIds.includes(session));
  const onTick = ({ session }: SessionItem) => setTicked((before) => toggled(before, session));
  const columns = sessionColumns({ t, lang, nameOf, problemOf, ticked: new Set(tickedIds), onTick });
  const choice = useColumnChoice('sessions', columns, rows);
  const openFile = useOpenFile();
  const { isOver, handlers } = useFileDrop(openFile);
  useTitle(t('sessions.title'));
  return (
    <main
      className={`${layout.main} ${css.sessions}`}
      id="main"
      tabIndex={-1}
      data-dropping={isOver || undefined}
      {...handlers}
    >
      {isOver && (
        <div className={css.drop} data-testid="sessions-drop">
          {t('sessions.file.drop')}
        </div>
      )}
      <div className={css.head}>
        <div>
          <Title order={1}>{t('sessions.title')}</Title>
          <Text size="sm" c="dimmed">
            {t('app.tagline')}
          </Text>
        </div>
        <Group gap={12}>
          {ticked.length > 0 && (
            <>
              <CompareButton ticked={ticked} />
              <DeleteButton ticked={ticked} onDone={() => setTicked([])} />
            </>
          )}
          {(typed !== '' || outcome !== null || (items?.length ?? 0) >= MIN_FILTERABLE) && (
            <>
              <TextInput
                className={css.search}
                size="xs"
                placeholder={t('sessions.search')}
                aria-label={t('sessions.search')}
                value={typed}
                onChange={(event) => setTyped(event.currentTarget.value)}
                leftSection={<IconSearch size={14} />}
                data-testid="sessions-search"
              />
              <Select
                size="xs"
                w={150}
                clearable
                aria-label={t('sessions.outcome')}
                placeholder={t('sessions.anyOutcome')}
                data={OUTCOMES.map((value) => ({ value, label: t(`sessions.outcomes.${value}`) }))}
                value={outcome}
                onChange={(value) => setOutcome(value as Outcome | null)}
                data-testid="sessions-outcome"
              />
            </>
          )}
          <OpenFileButton onFile={openFile} />
          {rows.length > 0 && (
            <TableMenu
              name="sessions"
              columns={columns}
              choice={choice}
              list={{ rows, total: sessions.data?.total }}
            />
          )}
        </Group>
      </div>
      {sessions.error !== null && items === undefined && (
        <ErrorPanel error={sessions.error} onRetry={() => void sessions.refetch()} />
      )}
      {sessions.isPending && [0, 1, 2].map((at) => <Skeleton key={at} height={34} mb={8} radius="sm" />)}
      {items?.length === 0 && q === '' && <NoSessions />}
      {items !== undefined && (items.length > 0 || q !== '') && (
        <SessionTable rows={rows} columns={columns} choice={choice} />
      )}
      {items !== undefined && sessions.data !== undefined && sessions.data.total > items.length && (
        <p className={words.dim}>
          {t('sessions.more', { shown: count(items.length), total: count(sessions.data.total) })}
        </p>
      )}
    </main>
  );
}

/** The sessions with their runs, of one outcome if one is chosen. */
function useSessionRows(items: readonly SessionItem[], outcome: Outcome | null): SessionEntry[] {
  const runs = useRecentRuns();
  return useMemo(
    () => toEntries(items, runs).filter((entry) => outcome === null || hasOutcome(entry, outcome)),
    [items, runs, outcome],
  );
}

function SessionTable(props: {
  rows: readonly SessionEntry[];
  columns: Column<SessionEntry>[];
  choice: ColumnChoice;
}) {
  const { t } = useTranslation();
  const { lang } = useUrl();
  const [sort, setSort] = useState<string>();
  const rows = useMemo(() => sorted(props.rows, FIELDS, sort), [props.rows, sort]);
  return (
    <DataTable
      testId="session-table"
      rowTestId="session-row"
      kindOf={({ session }) => session.state}
      label={t('sessions.title')}
      columns={props.columns}
      visibility={props.choice.visibility}
      rows={rows}
      keyOf={keyOf}
      maxRows={Infinity}
      actions={({ session }) => <SessionActions session={session} />}
      sort={sort}
      onSort={setSort}
      onOpen={({ session }, { follow }) => {
        if (!follow && session.state !== 'unreadable') go(toSession(session, lang));
      }}
      empty={<EmptyState icon={<IconFilterX size={26} />} title={t('sessions.noneFound')} />}
    />
  );
}

const toggled = (ticked: readonly string[], session: string) =>
  ticked.includes(session) ? ticked.filter((other) => other !== session) : [...ticked, session];

/** Compares the oldest ticked session with the others. Sessions without jobs are left out. */
function CompareButton({ ticked }: { ticked: readonly SessionItem[] }) {
  const { t } = useTranslation();
  const { lang } = useUrl();
  const [a = '', ...b] = ticked
    .filter(({ state, jobs }) => state !== 'unreadable' && jobs > 0)
    .sort((one, other) => Number(one.first_ns) - Number(other.first_ns))
    .map(({ session }) => session);
  const isTooMany = b.length > MAX_COMPARED;
  return (
    <>
      {b.length === 0 && <span className={words.dim}>{t('sessions.compareMore')}</span>}
      {isTooMany && <span className={words.dim}>{t('sessions.compareLess', { n: MAX_COMPARED + 1 })}</span>}
      <Button
        size="xs"
        leftSection={<IconGitCompare size={15} />}
        disabled={b.length === 0 || isTooMany}
        onClick={() => go({ page: 'compare', a, b: b.join(','), lang })}
        data-testid="sessions-compare"
      >
        {t('sessions.compare')}
      </Button>
    </>
  );
}

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
    const { message, remedy } = translate(session.problem);
    return `${message} ${remedy ?? ''}`;
  };
}
