import { Alert, Loader, Text } from '@mantine/core';
import { IconAlertTriangle, IconDatabaseSearch } from '@tabler/icons-react';
import { useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ApiError } from '../../api/client';
import { load, save } from '../../base/storage';
import { withSettings } from '../../base/url';
import { EmptyState } from '../../ui/EmptyState';
import { ErrorPanel } from '../../ui/ErrorPanel';
import { Prose } from '../../ui/Prose';
import { Toolbar } from '../../ui/Toolbar';
import words from '../../ui/theme/words.module.css';
import { useServerMessage } from '../../ui/useServerMessage';
import { useStored } from '../../ui/useStored';
import { useSessionUrl } from '../../ui/useUrl';
import { Editor } from './Editor';
import { ResultView } from './ResultView';
import type { SavedQuery } from './result';
import { Sidebar } from './Sidebar';
import css from './SqlPage.module.css';
import { useSql } from './useSql';

/** Storage key of the last edited query, which is restored on the next visit. */
const DRAFT = 'sql.draft';
/** Maximum length of a query in the URL, characters. Longer addresses may be rejected. */
const MAX_IN_URL = 6_000;
const NO_QUERIES: SavedQuery[] = [];

/** SQL over the record: questions and tables next to an editor, and the result. */
export default function SqlPage() {
  const { t } = useTranslation();
  const [url, change] = useSessionUrl();
  // A query from a link is shown but not run, because it may take half a minute of server time, and the user
  // has not seen it yet.
  const linked = url.settings?.sql;
  const [draft, setDraft] = useState(() => linked ?? load(DRAFT) ?? '');
  const [saved, keep] = useStored('sql.saved', NO_QUERIES);
  const query = useSql(url.session);
  const editor = useRef<HTMLTextAreaElement>(null);
  const run = (sql: string, isChart = url.settings?.mode === 'chart') => {
    if (sql.trim() === '') return;
    setDraft(sql);
    save(DRAFT, sql);
    const kept = sql.length <= MAX_IN_URL ? sql : undefined;
    const mode = isChart ? 'chart' : undefined;
    change((before) => withSettings(before, { sql: kept, by: undefined, weight: undefined, mode }), {
      replace: true,
    });
    query.run(sql);
  };
  const insert = (text: string) => {
    const field = editor.current;
    if (field === null) return;
    field.focus();
    field.setRangeText(text, field.selectionStart, field.selectionEnd, 'end');
    setDraft(field.value);
  };
  return (
    <>
      <Toolbar>
        <span className={words.dim}>{t('sql.hint')}</span>
      </Toolbar>
      <div className={css.body} data-testid="sql-page">
        <Sidebar saved={saved} onRun={run} onInsert={insert} onDelete={keep} />
        <div className={css.main}>
          <Editor
            field={editor}
            draft={draft}
            onDraft={setDraft}
            isRunning={query.isPending}
            onRun={() => run(draft)}
            onCancel={query.cancel}
            onSave={(name) => keep([...saved.filter((one) => one.name !== name), { name, sql: draft }])}
            note={noteOf()}
          />
          {query.isPending ? (
            <p className={css.waiting} role="status">
              <Loader size={14} /> {t('sql.running')}
            </p>
          ) : query.error !== null ? (
            <Problem error={query.error} onRetry={() => run(draft)} />
          ) : query.data !== undefined ? (
            <ResultView result={query.data} />
          ) : (
            <EmptyState icon={<IconDatabaseSearch size={26} />} title={t('sql.ready')}>
              {t('sql.readyText')}
            </EmptyState>
          )}
        </div>
      </div>
    </>
  );

  function noteOf(): string | undefined {
    if (query.isCancelled) return t('sql.cancelled');
    if (draft.length > MAX_IN_URL) return t('sql.tooLong');
    const isNew = linked !== undefined && linked === draft && query.isIdle;
    return isNew ? t('sql.fromLink') : undefined;
  }
}

/** DuckDB marks the place of an error on a separate line, so line breaks are kept. */
function Problem({ error, onRetry }: { error: Error; onRetry: () => void }) {
  const { t } = useTranslation();
  const translate = useServerMessage();
  if (!(error instanceof ApiError) || error.status !== 400)
    return <ErrorPanel error={error} title={t('sql.failed')} onRetry={onRetry} />;
  const { message, remedy } = translate(error);
  return (
    <Alert
      color="red"
      variant="light"
      m="md"
      icon={<IconAlertTriangle size={18} />}
      title={t('sql.failed')}
      data-testid="sql-error"
    >
      <pre className={words.pre}>{message}</pre>
      {remedy && (
        <Text size="sm" mt={6}>
          <b>{t('common.remedy')}:</b> <Prose text={remedy} />
        </Text>
      )}
    </Alert>
  );
}
