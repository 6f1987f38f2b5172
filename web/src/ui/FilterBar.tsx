import { type ReactNode, useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { useJobChoices, useNodeChoices } from '../api/queries';
import type { Summary } from '../api/schema';
import { shortId } from '../base/format';
import { STATE_ORDER } from '../base/tokens';
import type { FilterName } from '../base/url';
import { choices, jobLabel, nodeLabel, withChosen } from './filterChoices';
import type { FilterField } from './filters/filters';
import { Toolbar } from './Toolbar';
import { isDriver } from './taskColumns';
import { useStateName } from './useStateName';
import { useSessionUrl } from './useUrl';

const TYPES = ['NORMAL_TASK', 'ACTOR_CREATION_TASK', 'ACTOR_TASK', 'DRIVER_TASK'];
/** Filters that only links can set. The user can remove them but not add them. */
const LINKED = [
  'name',
  'actor_id',
  'worker_id',
  'caller_task_id',
  'placement_group_id',
] as const satisfies FilterName[];

/** The text field and the filters shared by the task list and the execution views. */
export function FilterBar(props: {
  summary: Summary | undefined;
  hide?: FilterName[];
  /** Filters of this page only, shown before the others. */
  first?: FilterField[];
  options?: ReactNode;
  count?: ReactNode;
  menu?: ReactNode;
}) {
  const { t } = useTranslation();
  const { summary, hide, first = [], ...rest } = props;
  const fields = useTaskFilters(summary).filter(
    ({ name }) => !(hide as string[] | undefined)?.includes(name),
  );
  return <Toolbar search={t('filter.q')} fields={[...first, ...fields]} {...rest} />;
}

/** The filters for the session's nodes and jobs. */
export function usePlaceFilters(): FilterField[] {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  const nodes = useNodeChoices(url.session).data?.items;
  const jobs = useJobChoices(url.session).data?.items;
  const { node_id, job_id } = url.filters;
  return useMemo(
    () => [
      { name: 'job_id', label: t('filter.job'), choices: choices(jobs, 'job_id', jobLabel, job_id) },
      { name: 'node_id', label: t('filter.node'), choices: choices(nodes, 'node_id', nodeLabel, node_id) },
    ],
    [nodes, jobs, node_id, job_id, t],
  );
}

function useTaskFilters(summary: Summary | undefined): FilterField[] {
  const [{ filters }] = useSessionUrl();
  const { t, i18n } = useTranslation();
  const stateName = useStateName();
  const places = usePlaceFilters();
  const functions = withChosen(
    (summary?.functions ?? []).map((row) => row.func_name).filter((name) => name !== null),
    filters.func_name,
  );
  const errorTypes = withChosen(
    (summary?.failures ?? []).map((row) => row.error_type).filter((type) => type !== null),
    filters.error_type,
  ).sort();
  const same = (value: string) => ({ value, label: value });
  const show = (name: FilterName) => (value: string) =>
    name === 'caller_task_id' && isDriver(value)
      ? t('task.driver')
      : name.endsWith('_id')
        ? shortId(value)
        : value;
  return [
    {
      name: 'state',
      label: t('filter.state'),
      multiple: true,
      choices: STATE_ORDER.map((state) => ({ value: state, label: stateName(state) })),
      show: stateName,
    },
    { name: 'func_name', label: t('filter.function'), choices: functions.map(same), free: true },
    ...places,
    {
      name: 'type',
      label: t('filter.type'),
      choices: TYPES.map((type) => ({
        value: type,
        label: i18n.exists(`type.${type}`) ? t(`type.${type}` as 'type.DRIVER_TASK') : type,
      })),
    },
    // The summary lists only the error types of the latest failures.
    { name: 'error_type', label: t('filter.errorType'), choices: errorTypes.map(same), free: true },
    ...LINKED.map((name) => ({ name, label: t(`filter.${name}`), show: show(name) })),
  ];
}
