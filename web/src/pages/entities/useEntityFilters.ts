import { useTranslation } from 'react-i18next';
import { usePlaceFilters } from '../../ui/FilterBar';
import type { FilterField } from '../../ui/filters/filters';
import { useItemStateName } from '../../ui/useStateName';
import type { EntityKind } from './entityKinds';

/** Ray's states of each kind, starting with those of live entities. */
const STATES: Record<EntityKind, string[]> = {
  actors: ['ALIVE', 'PENDING_CREATION', 'DEPENDENCIES_UNREADY', 'RESTARTING', 'DEAD'],
  workers: ['ALIVE', 'DEAD'],
  jobs: ['RUNNING', 'PENDING', 'SUCCEEDED', 'FINISHED', 'FAILED', 'STOPPED', 'CUT_OFF'],
  'placement-groups': ['CREATED', 'PENDING', 'PREPARED', 'RESCHEDULING', 'INFEASIBLE', 'REMOVED'],
};
/** Which of the filters by job and by node each kind has. */
const PLACES: Record<EntityKind, string[]> = {
  actors: ['job_id', 'node_id'],
  workers: ['job_id', 'node_id'],
  jobs: [],
  'placement-groups': ['job_id'],
};

/** The filters of a list of entities. */
export function useEntityFilters(view: EntityKind): FilterField[] {
  const { t } = useTranslation();
  const stateName = useItemStateName(view);
  const places = usePlaceFilters().filter(({ name }) => PLACES[view].includes(name));
  const state: FilterField = {
    name: 'state',
    label: t('filter.state'),
    multiple: true,
    choices: STATES[view].map((value) => ({ value, label: stateName(value) })),
  };
  const className: FilterField = { name: 'class_name', label: t('filter.class'), choices: [], free: true };
  return [state, ...places, ...(view === 'actors' || view === 'workers' ? [className] : [])];
}
