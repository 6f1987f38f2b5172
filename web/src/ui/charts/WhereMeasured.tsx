import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { REPORT } from '../../base/report';
import words from '../theme/words.module.css';
import { useSessionUrl } from '../useUrl';
import { useChart } from './useChart';

/** Says that a report has no charts of a library's metrics. */
export function ChartsLeftOut() {
  const { t } = useTranslation();
  return <p className={words.dim}>{t('report.noCharts')}</p>;
}

/**
 * Shows `children`, which chart a metric, or `otherwise` if the metric has no value in the page's range of
 * time.
 */
export function WhereMeasured(props: {
  metric: string;
  of: string;
  otherwise?: ReactNode;
  children: ReactNode;
}) {
  const [url] = useSessionUrl();
  const query = { expr: `count(${props.metric}${props.of})`, legend: '' };
  const { data, error } = useChart(url.session, [query], REPORT === null);
  if (REPORT !== null) return props.otherwise === undefined ? null : <ChartsLeftOut />;
  if (error !== null) return props.children; // each chart shows its own error
  if (data === undefined) return null;
  const isMeasured = data.lines.some((line) => line.values.some((value) => value !== null));
  return isMeasured ? props.children : props.otherwise;
}
