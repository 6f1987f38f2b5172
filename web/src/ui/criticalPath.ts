import { useTranslation } from 'react-i18next';
import type { CriticalPath } from '../api/criticalPath';

const SHOWN = 60;

/** The parts of a path that have a name in the texts. */
export function usePathPhase(): (phase: string) => string {
  const { t, i18n } = useTranslation();
  return (phase) => {
    if (phase === 'retrying') return t('gantt.retrying');
    return i18n.exists(`flow.phase.${phase}`)
      ? t(`flow.phase.${phase}` as 'flow.phase.executing')
      : t('gantt.unexplained');
  };
}

/** The parts of a path by function and phase; the driver cannot take no time. */
export function pathParts(path: Pick<CriticalPath, 'functions'>) {
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

/** A cause of how long the job took: a function that ran, or what held up `functions` before or after they did. */
export interface Cause {
  phase: string;
  total: number;
  /** The function with the most of it; '' is unknown. */
  name: string;
  isDriver: boolean;
  functions: number;
}

/** The path by cause, the largest first: each function that ran is one, each other phase is one of all. */
export function pathCauses(path: Pick<CriticalPath, 'functions'>): Cause[] {
  const causes = new Map<string, Cause & { most: number }>();
  for (const { name, is_driver, by_phase } of path.functions)
    for (const [phase, total] of Object.entries(by_phase)) {
      const key = phase === 'executing' ? `${phase} ${is_driver} ${name}` : phase;
      const known = causes.get(key) ?? { phase, total: 0, name, isDriver: is_driver, functions: 0, most: 0 };
      if (total > known.most) Object.assign(known, { most: total, name, isDriver: is_driver });
      causes.set(key, { ...known, total: known.total + total, functions: known.functions + 1 });
    }
  return [...causes.values()].sort((a, b) => b.total - a.total).map(({ most: _, ...cause }) => cause);
}
