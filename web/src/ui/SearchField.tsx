import { ActionIcon, Kbd, TextInput } from '@mantine/core';
import { IconSearch, IconX } from '@tabler/icons-react';
import { useEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { isTyping } from '../base/keys';
import type { FilterName } from '../base/url';
import css from './SearchField.module.css';
import { useTypedFilter } from './useTypedFilter';

/** The search field of a list; `/` goes to it. */
export function SearchField(props: { filter: FilterName; placeholder: string }) {
  const [value, setValue] = useTypedFilter(props.filter);
  const { t } = useTranslation();
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    function onKey(event: KeyboardEvent): void {
      if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target))
        return;
      event.preventDefault();
      field.current?.focus();
      field.current?.select();
    }
    window.addEventListener('keydown', onKey);
    return () => window.removeEventListener('keydown', onKey);
  }, []);
  return (
    <TextInput
      ref={field}
      size="xs"
      className={css.search}
      placeholder={props.placeholder}
      aria-label={props.placeholder}
      value={value}
      onChange={(event) => setValue(event.currentTarget.value)}
      onKeyDown={(event) => {
        if (event.key === 'Enter') setValue(event.currentTarget.value, true);
        if (event.key === 'Escape' || event.key === 'Enter') {
          event.stopPropagation();
          event.currentTarget.blur();
        }
      }}
      leftSection={<IconSearch size={14} />}
      rightSection={
        value === '' ? (
          <Kbd size="xs">/</Kbd>
        ) : (
          <ActionIcon size={18} aria-label={t('filter.remove')} onClick={() => setValue('', true)}>
            <IconX size={13} />
          </ActionIcon>
        )
      }
      data-testid={`filter-${props.filter}`}
    />
  );
}
