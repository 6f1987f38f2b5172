import { useTranslation } from 'react-i18next';
import type { EntityView } from '../../base/url';
import { usePlaceFilters } from '../../ui/FilterBar';
import type { FilterField } from '../../ui/filters/filters';
import { useItemStateName } from '../../ui/useStateName';

/** The states of each kind, as Ray has them, those that live first. */
const STATES: Record<EntityView, string[]> = {
  actors: ['ALIVE', 'PENDING_CREATION', 'DEPENDENCIES_UNREADY', 'RESTARTING', 'DEAD'],
  workers: ['ALIVE', 'DEAD'],
  nodes: ['ALIVE', 'DEAD'],
  jobs: ['RUNNING', 'PENDING', 'SUCCEEDED', 'FINISHED', 'FAILED', 'STOPPED', 'CUT_OFF'],
  'placement-groups': ['CREATED', 'PENDING', 'PREPARED', 'RESCHEDULING', 'INFEASIBLE', 'REMOVED'],
};
/** Which kinds have a job and a node to filter by. */
const PLACES: Record<EntityView, string[]> = {
  actors: ['job_id', 'node_id'],
  workers: ['job_id', 'node_id'],
  nodes: [],
  jobs: [],
  'placement-groups': ['job_id'],
};

/** What a list of entities can be filtered by. */
export function useEntityFilters(view: EntityView): FilterField[] {
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
