import css from './Severity.module.css';
import { severityTone, useSeverityName } from './severity';

/** A severity by its name, in its colour. */
export function Severity({ severity }: { severity: string }) {
  const name = useSeverityName();
  return (
    <span className={css.severity} data-tone={severityTone(severity)}>
      {name(severity)}
    </span>
  );
}
