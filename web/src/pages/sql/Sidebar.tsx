import { ActionIcon, Tooltip, UnstyledButton } from '@mantine/core';
import { IconChevronRight, IconPlus, IconTrash } from '@tabler/icons-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import words from '../../ui/theme/words.module.css';
import { QUESTIONS, TABLES, type Table } from './questions';
import type { SavedQuery } from './result';
import css from './Sidebar.module.css';

/** Example questions, saved queries and the tables of the record. */
export function Sidebar(props: {
  saved: SavedQuery[];
  onRun: (sql: string, isChart?: boolean) => void;
  onInsert: (text: string) => void;
  onDelete: (rest: SavedQuery[]) => void;
}) {
  const { t } = useTranslation();
  const { saved, onRun } = props;
  return (
    <aside className={css.sidebar} aria-label={t('sql.tables')}>
      <h2 className={css.title}>{t('sql.questions')}</h2>
      {QUESTIONS.map(({ key, sql, isChart }) => (
        <UnstyledButton
          key={key}
          className={css.entry}
          title={sql}
          onClick={() => onRun(sql, isChart)}
          data-testid="sql-question"
        >
          {t(`sql.questionsOf.${key}` as 'sql.questionsOf.whatFailedAndWhy')}
        </UnstyledButton>
      ))}
      {saved.length > 0 && <h2 className={css.title}>{t('sql.own')}</h2>}
      {saved.map(({ name, sql }) => (
        <div key={name} className={css.own}>
          <UnstyledButton
            className={css.entry}
            title={sql}
            onClick={() => onRun(sql)}
            data-testid="sql-saved"
          >
            {name}
          </UnstyledButton>
          <ActionIcon
            size={22}
            aria-label={t('sql.remove', { name })}
            onClick={() => props.onDelete(saved.filter((one) => one.name !== name))}
          >
            <IconTrash size={14} />
          </ActionIcon>
        </div>
      ))}
      <h2 className={css.title}>{t('sql.tables')}</h2>
      {TABLES.map((table) => (
        <TableEntry key={table.name} table={table} onInsert={props.onInsert} />
      ))}
    </aside>
  );
}

/** A table that unfolds into its columns. A click on a name inserts it into the query. */
function TableEntry({ table, onInsert }: { table: Table; onInsert: (text: string) => void }) {
  const { t } = useTranslation();
  const [isUnfolded, setUnfolded] = useState(false);
  const { name, columns } = table;
  return (
    <>
      <div className={css.own}>
        <UnstyledButton
          className={css.table}
          aria-expanded={isUnfolded}
          onClick={() => setUnfolded((now) => !now)}
          data-testid="sql-table"
        >
          <IconChevronRight
            size={14}
            className={isUnfolded ? `${css.icon} ${words.turned}` : css.icon}
            aria-hidden
          />
          <span className={css.tableText}>
            <span className={words.mono}>{name}</span>
            <span className={`${words.dim} ${words.small}`}>
              {t(`sql.about.${name}` as 'sql.about.tasks')}
            </span>
          </span>
        </UnstyledButton>
        <Tooltip label={t('sql.insert', { name })}>
          <ActionIcon size={22} aria-label={t('sql.insert', { name })} onClick={() => onInsert(name)}>
            <IconPlus size={14} />
          </ActionIcon>
        </Tooltip>
      </div>
      {isUnfolded && (
        <ul className={css.columns}>
          {columns.map((column) => (
            <li key={column.name}>
              <UnstyledButton
                className={css.column}
                title={column.about}
                onClick={() => onInsert(column.name)}
                data-testid="sql-column"
              >
                <span className={css.columnHead}>
                  <span className={`${words.mono} ${words.breaks}`}>{column.name}</span>
                  <span className={css.type}>{column.type}</span>
                </span>
                {column.about && (
                  <span className={`${words.dim} ${words.small} ${words.ellipsis}`}>{column.about}</span>
                )}
              </UnstyledButton>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
