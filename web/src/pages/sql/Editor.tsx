import { Button, Kbd, Popover, Textarea, TextInput } from '@mantine/core';
import { IconDeviceFloppy, IconPlayerPlay, IconX } from '@tabler/icons-react';
import { type FormEvent, type RefObject, useState } from 'react';
import { useTranslation } from 'react-i18next';
import words from '../../ui/theme/words.module.css';
import css from './Editor.module.css';

/** An editor for a query, with buttons that run, cancel and save it. */
export function Editor(props: {
  field: RefObject<HTMLTextAreaElement | null>;
  draft: string;
  onDraft: (sql: string) => void;
  isRunning: boolean;
  onRun: () => void;
  onCancel: () => void;
  onSave: (name: string) => void;
  note?: string;
}) {
  const { t } = useTranslation();
  const { draft, isRunning, onRun } = props;
  const isEmpty = draft.trim() === '';
  return (
    <div className={css.editor}>
      <Textarea
        ref={props.field}
        aria-label={t('sql.query')}
        placeholder={t('sql.placeholder')}
        value={draft}
        onChange={(event) => props.onDraft(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
            event.preventDefault();
            onRun();
          }
        }}
        rows={7}
        resize="vertical"
        spellCheck={false}
        maxLength={100_000}
        classNames={{ input: words.mono }}
        data-testid="sql-query"
      />
      <div className={css.buttons}>
        {isRunning ? (
          <Button
            size="compact-sm"
            variant="default"
            leftSection={<IconX size={14} />}
            onClick={props.onCancel}
            data-testid="sql-cancel"
          >
            {t('sql.cancel')}
          </Button>
        ) : (
          <Button
            size="compact-sm"
            leftSection={<IconPlayerPlay size={14} />}
            disabled={isEmpty}
            onClick={onRun}
            data-testid="sql-run"
          >
            {t('sql.run')}
          </Button>
        )}
        <span className={css.keys}>
          <Kbd size="xs">Ctrl</Kbd> <Kbd size="xs">Enter</Kbd>
        </span>
        {props.note !== undefined && (
          <span className={words.dim} role="status" data-testid="sql-note">
            {props.note}
          </span>
        )}
        <span className={css.save}>
          <SaveButton disabled={isEmpty} onSave={props.onSave} />
        </span>
      </div>
    </div>
  );
}

function SaveButton({ disabled, onSave }: { disabled: boolean; onSave: (name: string) => void }) {
  const { t } = useTranslation();
  const [opened, setOpened] = useState(false);
  const [name, setName] = useState('');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (name.trim() === '') return;
    onSave(name.trim());
    setOpened(false);
    setName('');
  };
  return (
    <Popover opened={opened} onChange={setOpened} position="bottom-end" shadow="md" trapFocus>
      <Popover.Target>
        <Button
          size="compact-sm"
          variant="default"
          leftSection={<IconDeviceFloppy size={14} />}
          disabled={disabled}
          onClick={() => setOpened((now) => !now)}
          data-testid="sql-save"
        >
          {t('sql.save')}
        </Button>
      </Popover.Target>
      <Popover.Dropdown>
        <form onSubmit={submit} className={css.saveForm}>
          <TextInput
            aria-label={t('sql.saveAs')}
            placeholder={t('sql.saveAs')}
            value={name}
            maxLength={80}
            onChange={(event) => setName(event.currentTarget.value)}
            data-testid="sql-save-name"
          />
          <Button type="submit" disabled={name.trim() === ''}>
            {t('sql.save')}
          </Button>
        </form>
      </Popover.Dropdown>
    </Popover>
  );
}
