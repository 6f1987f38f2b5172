import { useTranslation } from 'react-i18next';
import type { CriticalPathAnswer } from '../api/schema';

const SHOWN = 60;

/** Translates the phases of a path. */
export function usePathPhase(): (phase: string) => string {
  const { t, i18n } = useTranslation();
  return (phase) => {
    if (phase === 'retrying') return t('gantt.retrying');
    return i18n.exists(`flow.phase.${phase}`)
      ? t(`flow.phase.${phase}` as 'flow.phase.executing')
      : t('gantt.unexplained');
  };
}

/**
 * The largest parts of a path, by function and phase. `without` is null for the driver, which always takes
 * time.
 */
export function pathParts(path: Pick<CriticalPathAnswer, 'functions'>) {
  return path.functions
    .flatMap(({ name, is_driver, by_phase, without_ns }) =>
      Object.entries(by_phase).map(([phase, total]) => ({
        name,
        phase,
        total,
        isDriver: is_driver,
        without: name === '' || is_driver ? null : without_ns,
      })),
    )
    .sort((a, b) => b.total - a.total)
    .slice(0, SHOWN);
}
