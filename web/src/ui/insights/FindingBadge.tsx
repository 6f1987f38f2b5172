import { IconAlertTriangle, IconInfoCircle } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import type { FindingItem } from '../../api/schema';
import { severityTone, useSeverityName } from '../alerts/severity';
import { Link } from '../Link';
import { useSessionUrl } from '../useUrl';
import css from './FindingBadge.module.css';
import { toFinding } from './findings';
import { useFindingTexts } from './useFindingTexts';

/** A badge next to a function or class with a finding. It shows the severity and links to the finding. */
export function FindingBadge({ finding, job }: { finding: FindingItem | undefined; job: string }) {
  const { t } = useTranslation();
  const [url] = useSessionUrl();
  const texts = useFindingTexts();
  const severityName = useSeverityName();
  if (finding === undefined) return null;
  const { kind, title, severity } = finding;
  const Icon = severity === 'info' ? IconInfoCircle : IconAlertTriangle;
  const name = texts.title(kind, title);
  return (
    <span className={css.badge} data-tone={severityTone(severity)}>
      <Link
        to={toFinding(url, job, finding)}
        className={css.way}
        title={`${name}: ${texts.gain(finding)}`}
        label={`${t('insights.findings.open', { title: name })} (${severityName(severity)})`}
        testId="finding-badge"
      >
        <Icon size={14} stroke={2} aria-hidden />
      </Link>
    </span>
  );
}
