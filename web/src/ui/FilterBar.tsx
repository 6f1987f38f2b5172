import { ActionIcon, Autocomplete, Button, Group, MultiSelect, Popover, Stack, Tooltip } from '@mantine/core';
import { useElementSize } from '@mantine/hooks';
import { IconFilter, IconFilterX, IconX } from '@tabler/icons-react';
import { type ReactNode, useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { useChoices } from '../api/queries';
import type { Summary } from '../api/types';
import { fullTime, shortId } from '../base/format';
import { STATE_ORDER } from '../base/tokens';
import { FILTERS, type FilterName, withFilter } from '../base/url';
import css from './FilterBar.module.css';
import { FilterSelect } from './FilterSelect';
import { choices, jobLabel, nodeLabel, withChosen } from './filterChoices';
import { SearchField } from './SearchField';
import { isDriver } from './taskColumns';
import layout from './theme/layout.module.css';
import words from './theme/words.module.css';
import { useStateName } from './useStateName';
import { useTypedFilter } from './useTypedFilter';
import { useSessionUrl } from './useUrl';

const TYPES = ['NORMAL_TASK', 'ACTOR_CREATION_TASK', 'ACTOR_TASK', 'DRIVER_TASK'];
/** Filters that come from links and have no field of their own: shown as tags that can be removed. */
const TAGGED: FilterName[] = [
  'name',
  'actor_id',
  'worker_id',
  'caller_task_id',
  'placement_group_id',
  'since_ns',
  'until_ns',
];

/** Filters with a field of their own. */
const FIELDS: FilterName[] = ['state', 'outcome', 'func_name', 'node_id', 'job_id', 'type', 'error_type'];
/** In a bar that is narrower the fields stand behind a button, CSS pixels. */
const MIN_WIDTH = 840;

export function FilterBar(props: {
  summary: Summary | undefined;
  hide?: FilterName[];
  /** Before the fields of all lists. */
  first?: ReactNode;
  right?: ReactNode;
}) {
  const [url, change] = useSessionUrl();
  const { t, i18n } = useTranslation();
  const stateName = useStateName();
  const nodes = useChoices(url.session, '/nodes');
  const jobs = useChoices(url.session, '/jobs');
  const { filters } = url;
  const hidden = new Set(props.hide ?? []);
  const set = (name: FilterName) => (value: string | null) =>
    change((before) => withFilter(before, name, value ?? undefined));

  const functions = useMemo(
    () =>
      withChosen(
        (props.summary?.functions ?? []).map((row) => row.func_name).filter((name) => name !== null),
        filters.func_name,
      ),
    [props.summary?.functions, filters.func_name],
  );
  const nodeChoices = useMemo(
    () => choices(nodes.data?.items, 'node_id', nodeLabel, filters.node_id),
    [nodes.data, filters.node_id],
  );
  const jobChoices = useMemo(
    () => choices(jobs.data?.items, 'job_id', jobLabel, filters.job_id),
    [jobs.data, filters.job_id],
  );
  const errorTypes = useMemo(
    () =>
      [
        ...new Set(
          (props.summary?.failures ?? []).map((row) => row.error_type).filter((type) => type !== null),
        ),
      ].sort(),
    [props.summary?.failures],
  );
  const states = filters.state?.split(',').filter((state) => state !== '') ?? [];
  const used = FILTERS.some((name) => filters[name] && !hidden.has(name));

  const { ref, width } = useElementSize();
  const isNarrow = width > 0 && width < MIN_WIDTH;
  const chosen = FIELDS.filter((name) => filters[name] && !hidden.has(name)).length;
  const fields = (
    <>
      {props.first}
      {!hidden.has('state') && (
        <MultiSelect
          size="xs"
          className={`${css.filter} ${css.states}`}
          aria-label={t('filter.state')}
          placeholder={states.length === 0 ? t('filter.state') : undefined}
          data={[...STATE_ORDER, ...states.filter((state) => !STATE_ORDER.includes(state))].map((state) => ({
            value: state,
            label: stateName(state),
          }))}
          value={states}
          onChange={(value) => set('state')(value.join(',') || null)}
          comboboxProps={{ width: 260, position: 'bottom-start', withinPortal: !isNarrow }}
          maxDropdownHeight={360}
          clearable
          data-testid="filter-state"
        />
      )}
      <FilterSelect
        testId="filter-func_name"
        label={t('filter.function')}
        data={functions}
        value={filters.func_name}
        onChange={set('func_name')}
        wide
      />
      <FilterSelect
        testId="filter-node_id"
        label={t('filter.node')}
        data={nodeChoices}
        value={filters.node_id}
        onChange={set('node_id')}
      />
      <FilterSelect
        testId="filter-job_id"
        label={t('filter.job')}
        data={jobChoices}
        value={filters.job_id}
        onChange={set('job_id')}
      />
      <FilterSelect
        testId="filter-type"
        label={t('filter.type')}
        data={TYPES.map((type) => ({
          value: type,
          label: i18n.exists(`type.${type}`) ? t(`type.${type}` as 'type.DRIVER_TASK') : type,
        }))}
        value={filters.type}
        onChange={set('type')}
      />
      <ErrorTypeField choices={errorTypes} />
    </>
  );

  return (
    <div className={layout.bar} ref={ref}>
      <SearchField filter="q" placeholder={t('filter.q')} />
      {isNarrow ? (
        <Popover position="bottom-start" shadow="md" width={280} trapFocus>
          <Popover.Target>
            <Button
              size="compact-sm"
              variant="default"
              leftSection={<IconFilter size={15} />}
              data-testid="filters-toggle"
            >
              {t('filter.more')}
              {chosen > 0 && <span className={`${css.filtersChosen} ${words.num}`}>{chosen}</span>}
            </Button>
          </Popover.Target>
          <Popover.Dropdown>
            <Stack gap={8} className={css.filtersStack}>
              {fields}
            </Stack>
          </Popover.Dropdown>
        </Popover>
      ) : (
        fields
      )}
      {TAGGED.map((name) => {
        const value = filters[name];
        if (!value) return null;
        const shown =
          name === 'caller_task_id' && isDriver(value)
            ? t('task.driver')
            : name.endsWith('_ns')
              ? fullTime(value)
              : name.endsWith('_id')
                ? shortId(value)
                : value;
        return (
          <span key={name} className={css.tag} title={value} data-testid={`filter-tag-${name}`}>
            <span className={words.dim}>{t(`filter.${name}` as 'filter.name')}</span>
            <span className={`${words.ellipsis} ${words.mono}`}>{shown}</span>
            <ActionIcon size={16} aria-label={t('filter.remove')} onClick={() => set(name)(null)}>
              <IconX size={12} />
            </ActionIcon>
          </span>
        );
      })}
      <Group gap={8} justify="flex-end" ml="auto">
        {/* Always there, so that the bar does not grow a line when the first filter is set. */}
        <Tooltip label={t('common.clearFilters')}>
          <ActionIcon
            size={26}
            color="blue"
            aria-label={t('common.clearFilters')}
            data-testid="clear-filters"
            style={{ visibility: used ? 'visible' : 'hidden' }}
            onClick={() => change((before) => ({ ...before, filters: {} }))}
          >
            <IconFilterX size={16} />
          </ActionIcon>
        </Tooltip>
        {props.right}
      </Group>
    </div>
  );
}

/** Free text with proposals: the summary knows the types of the newest failures alone. */
function ErrorTypeField(props: { choices: string[] }) {
  const { t } = useTranslation();
  const [value, setValue] = useTypedFilter('error_type');
  return (
    <Autocomplete
      size="xs"
      className={css.filter}
      aria-label={t('filter.errorType')}
      placeholder={t('filter.errorType')}
      data={props.choices}
      value={value}
      onChange={(typed) => setValue(typed)}
      onOptionSubmit={(chosen) => setValue(chosen, true)}
      comboboxProps={{ width: 260, position: 'bottom-start' }}
      clearable
      data-on={value !== '' || undefined}
      data-testid="filter-error_type"
    />
  );
}
