import { ActionIcon, Button, Popover, Tooltip } from '@mantine/core';
import { IconFilterX, IconPlus, IconX } from '@tabler/icons-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { type AnyFilter, withFilter } from '../../base/url';
import words from '../theme/words.module.css';
import { useListUrl } from '../useUrl';
import { type FilterField, valuesOf } from './filters';
import css from './filters.module.css';
import { OptionList } from './OptionList';

type Chosen = Partial<Record<AnyFilter, string>>;

/**
 * The filters of a list: a chip per active filter, which can be changed or removed, and a button that adds
 * one.
 */
export function FilterChips({ fields }: { fields: FilterField[] }) {
  const [url, change] = useListUrl();
  const { t } = useTranslation();
  const filters: Chosen = url.filters;
  const offered = fields.filter(({ choices, free }) => free || (choices !== undefined && choices.length > 0));
  const isUsed = (filters.q ?? '') !== '' || fields.some(({ name }) => filters[name]);
  const pick = (field: FilterField) => (value: string) =>
    change((before) => {
      const chosen: Chosen = before.filters;
      return withFilter(before, field.name, picked(field, chosen[field.name], value));
    });
  return (
    <>
      {fields.map((field) =>
        filters[field.name] ? (
          <Chip
            key={field.name}
            field={field}
            value={filters[field.name] ?? ''}
            onPick={pick(field)}
            onRemove={() => change((before) => withFilter(before, field.name, undefined))}
          />
        ) : null,
      )}
      <AddFilter fields={offered} chosen={filters} onPick={(field, value) => pick(field)(value)} />
      {isUsed && (
        <Tooltip label={t('common.clearFilters')}>
          <ActionIcon
            size={26}
            color="blue"
            aria-label={t('common.clearFilters')}
            data-testid="clear-filters"
            onClick={() => change((before) => ({ ...before, filters: {} }))}
          >
            <IconFilterX size={16} />
          </ActionIcon>
        </Tooltip>
      )}
    </>
  );
}

/**
 * The filter's new value when the user picks a value. With several values, picking one adds or removes it.
 */
function picked(field: FilterField, before: string | undefined, value: string): string {
  if (!field.multiple) return value;
  const values = valuesOf(field, before);
  return (values.includes(value) ? values.filter((one) => one !== value) : [...values, value]).join(',');
}

function Chip(props: {
  field: FilterField;
  value: string;
  onPick: (value: string) => void;
  onRemove: () => void;
}) {
  const { field, value } = props;
  const { t } = useTranslation();
  const [opened, setOpened] = useState(false);
  const values = valuesOf(field, value);
  const nameOf = (one: string) =>
    field.choices?.find((choice) => choice.value === one)?.label ?? field.show?.(one) ?? one;
  const text = (
    <>
      <span className={words.dim}>{field.label}</span>
      <span className={words.ellipsis}>{values.map(nameOf).join(', ')}</span>
    </>
  );
  return (
    <span className={css.chip} title={value} data-testid={`filter-chip-${field.name}`}>
      {field.choices === undefined ? (
        <span className={css.chipText}>{text}</span>
      ) : (
        <Popover
          opened={opened}
          onChange={setOpened}
          position="bottom-start"
          width={300}
          trapFocus
          returnFocus
        >
          <Popover.Target>
            <button type="button" className={css.chipText} onClick={() => setOpened((before) => !before)}>
              {text}
            </button>
          </Popover.Target>
          <Popover.Dropdown p={8} onKeyDown={(event) => event.key === 'Escape' && setOpened(false)}>
            <OptionList
              label={field.label}
              choices={field.choices}
              chosen={values}
              free={field.free}
              onPick={(one) => {
                props.onPick(one);
                if (!field.multiple) setOpened(false);
              }}
            />
          </Popover.Dropdown>
        </Popover>
      )}
      <ActionIcon
        size={16}
        aria-label={`${t('filter.remove')}: ${field.label}`}
        onClick={props.onRemove}
        data-testid={`filter-remove-${field.name}`}
      >
        <IconX size={12} />
      </ActionIcon>
    </span>
  );
}

/** Two steps: choose the filter, then its value. */
function AddFilter(props: {
  fields: FilterField[];
  chosen: Chosen;
  onPick: (field: FilterField, value: string) => void;
}) {
  const { t } = useTranslation();
  const [opened, setOpened] = useState(false);
  const [name, setName] = useState<AnyFilter | null>(null);
  const field = props.fields.find((one) => one.name === name);
  const set = (next: boolean) => {
    setOpened(next);
    setName(null);
  };
  return (
    <Popover opened={opened} onChange={set} position="bottom-start" width={300} trapFocus returnFocus>
      <Popover.Target>
        <Button
          size="compact-sm"
          variant="default"
          leftSection={<IconPlus size={14} />}
          onClick={() => set(!opened)}
          data-testid="filter-add"
        >
          {t('filter.add')}
        </Button>
      </Popover.Target>
      <Popover.Dropdown p={8} onKeyDown={(event) => event.key === 'Escape' && set(false)}>
        {field === undefined ? (
          <OptionList
            key="fields"
            label={t('filter.add')}
            choices={props.fields.map(({ name: value, label }) => ({ value, label }))}
            chosen={[]}
            onPick={(value) => setName(value as AnyFilter)}
          />
        ) : (
          <OptionList
            key={field.name}
            label={field.label}
            choices={field.choices ?? []}
            chosen={valuesOf(field, props.chosen[field.name])}
            free={field.free}
            onPick={(value) => {
              props.onPick(field, value);
              if (!field.multiple) set(false);
            }}
          />
        )}
      </Popover.Dropdown>
    </Popover>
  );
}
