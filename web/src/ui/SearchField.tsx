import { ActionIcon, Kbd, TextInput } from '@mantine/core';
import { IconSearch, IconX } from '@tabler/icons-react';
import { useRef } from 'react';
import { useTranslation } from 'react-i18next';
import type { AnyFilter } from '../base/url';
import css from './SearchField.module.css';
import { useKeys } from './useKeys';
import { useTypedFilter } from './useTypedFilter';

/** A search field that filters a list; `/` focuses it. */
export function SearchField(props: { filter: AnyFilter; placeholder: string }) {
  const [value, setValue] = useTypedFilter(props.filter);
  const { t } = useTranslation();
  const field = useRef<HTMLInputElement>(null);
  const focus = () => {
    field.current?.focus();
    field.current?.select();
  };
  useKeys(t('keys.page'), [{ keys: ['/'], label: t('keys.search'), run: focus }]);
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
