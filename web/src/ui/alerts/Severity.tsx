import css from './Severity.module.css';
import { severityTone, useSeverityName } from './severity';

/** The name of a severity in its colour. */
export function Severity({ severity }: { severity: string }) {
  const name = useSeverityName();
  return (
    <span className={css.severity} data-tone={severityTone(severity)}>
      {name(severity)}
    </span>
  );
}
