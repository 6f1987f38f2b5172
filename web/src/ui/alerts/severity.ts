import { useTranslation } from 'react-i18next';
import type { RuleInfo } from '../../api/schema';

export type SeverityTone = 'bad' | 'waiting' | 'quiet';

/** The colour of a severity. */
export function severityTone(severity: string): SeverityTone {
  if (severity === 'critical') return 'bad';
  return severity === 'warning' ? 'waiting' : 'quiet';
}

/**
 * Firing alerts have the colour of their severity, even after their cluster ended. Pending ones are neutral.
 */
export function alertTone(alert: { state: RuleInfo['state']; severity: string }): SeverityTone {
  return alert.state === 'firing' || alert.state === 'ended' ? severityTone(alert.severity) : 'quiet';
}

/** The tone of the most severe firing alert. */
export function worstTone(alerts: readonly { state: RuleInfo['state']; severity: string }[]): SeverityTone {
  const tones = new Set(alerts.map(alertTone));
  return (['bad', 'waiting'] as const).find((tone) => tones.has(tone)) ?? 'quiet';
}

/** The name of a severity. Rules may define their own severities. */
export function useSeverityName(): (severity: string) => string {
  const { t } = useTranslation();
  return (severity) =>
    severity === 'critical' || severity === 'warning' || severity === 'info' || severity === 'none'
      ? t(`alerts.severity.${severity}`)
      : severity;
}
