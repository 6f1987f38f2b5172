import { Select } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import css from './FilterBar.module.css';
import type { Choice } from './filterChoices';

/** A filter with a list to choose from, which can be searched. */
export function FilterSelect(props: {
  testId: string;
  label: string;
  data: (string | Choice)[];
  value: string | undefined;
  onChange: (value: string | null) => void;
  wide?: boolean;
}) {
  const { t } = useTranslation();
  return (
    <Select
      size="xs"
      className={props.wide ? `${css.filter} ${css.wide}` : css.filter}
      aria-label={props.label}
      placeholder={props.label}
      data={props.data}
      value={props.value ?? null}
      onChange={props.onChange}
      searchable
      clearable
      limit={100}
      nothingFoundMessage={t('filter.none')}
      comboboxProps={{ width: 320, position: 'bottom-start' }}
      data-on={props.value !== undefined || undefined}
      data-testid={props.testId}
    />
  );
}
