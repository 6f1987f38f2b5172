import { useTranslation } from 'react-i18next';
import type { AlertState } from '../../api/alerts';

export type SeverityTone = 'bad' | 'waiting' | 'quiet';

/** The colour of a severity, the same wherever it is shown. */
export function severityTone(severity: string): SeverityTone {
  if (severity === 'critical') return 'bad';
  return severity === 'warning' ? 'waiting' : 'quiet';
}

/** What fires, or did when its cluster ended, has the colour of its severity; what is pending is not certain yet. */
export function alertTone(alert: { state: AlertState; severity: string }): SeverityTone {
  return alert.state === 'firing' || alert.state === 'ended' ? severityTone(alert.severity) : 'quiet';
}

/** The gravest of the alerts that fire. */
export function worstTone(alerts: readonly { state: AlertState; severity: string }[]): SeverityTone {
  const tones = new Set(alerts.map(alertTone));
  return (['bad', 'waiting'] as const).find((tone) => tones.has(tone)) ?? 'quiet';
}

/** The name of a severity; rules may have ones of their own. */
export function useSeverityName(): (severity: string) => string {
  const { t } = useTranslation();
  return (severity) =>
    severity === 'critical' || severity === 'warning' || severity === 'info' || severity === 'none'
      ? t(`alerts.severity.${severity}`)
      : severity;
}
