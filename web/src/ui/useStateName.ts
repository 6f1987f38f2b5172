import { useCallback } from 'react';
import { useTranslation } from 'react-i18next';

/** The name of one of Ray's task states in the user's language. */
export function useStateName(): (state: string | null) => string {
  const { t, i18n } = useTranslation();
  return (state) => {
    if (state === null || state === '') return t('state.UNKNOWN');
    return i18n.exists(`state.${state}`) ? t(`state.${state}` as 'state.RUNNING') : state;
  };
}

/**
 * The name of a state of an actor, worker, node, job or placement group. A FINISHED job gets another name,
 * because it may have failed.
 */
export function useItemStateName(view?: string): (state: string) => string {
  const { t, i18n } = useTranslation();
  return (state) => {
    if (view === 'jobs' && state === 'FINISHED') return t('itemState.exitUnknown');
    return i18n.exists(`itemState.${state}`) ? t(`itemState.${state}` as 'itemState.ALIVE') : state;
  };
}

/** The name of an event, in Ray's own words if there is no translation. */
export function useEventName(): (event: string) => string {
  const { t, i18n } = useTranslation();
  return useCallback(
    (event) =>
      i18n.exists(`events.event.${event}`) ? t(`events.event.${event}` as 'events.event.NODE_DEAD') : event,
    [t, i18n],
  );
}
