import { ActionIcon, Skeleton } from '@mantine/core';
import { IconX } from '@tabler/icons-react';
import { lazy, Suspense } from 'react';
import { useTranslation } from 'react-i18next';
import type { ApiError } from '../../api/client';
import words from '../../ui/theme/words.module.css';
import { useServerMessage } from '../../ui/useServerMessage';
import { useSessionUrl } from '../../ui/useUrl';
import css from './Explorer.module.css';

/** Loaded only with the explorer, because it is as large as the rest of the page. */
const PromqlEditor = lazy(() => import('./PromqlEditor'));

/** One of the explorer's queries, with its error. */
export function ExplorerQuery(props: {
  /** Number of the query if there are several. */
  number: number | null;
  value: string;
  error: ApiError | null;
  onChange: (text: string) => void;
  onRun: () => void;
  onFocus: () => void;
  onRemove?: () => void;
}) {
  const { number, error } = props;
  const { t } = useTranslation();
  const translate = useServerMessage();
  const [url] = useSessionUrl();
  const label = number === null ? t('metricsPage.expr') : t('metricsPage.queryNumber', { n: number });
  const problem = error === null ? null : translate(error);
  return (
    <div>
      <span className={css.queryLabel}>{label}</span>
      <div className={css.queryLine}>
        <Suspense fallback={<Skeleton height={34} />}>
          <PromqlEditor
            session={url.session}
            label={label}
            placeholder="avg by (node_ip) (ray_node_cpu_utilization)"
            value={props.value}
            onChange={props.onChange}
            onRun={props.onRun}
            onFocus={props.onFocus}
          />
        </Suspense>
        {props.onRemove !== undefined && (
          <ActionIcon
            size={34}
            aria-label={t('metricsPage.removeQuery', { n: number })}
            title={t('metricsPage.removeLine')}
            onClick={props.onRemove}
            data-testid="expr-remove"
          >
            <IconX size={16} />
          </ActionIcon>
        )}
      </div>
      {problem !== null && (
        <p className={css.error} role="alert" data-testid="expr-error">
          {problem.message} <span className={words.dim}>{problem.remedy}</span>
        </p>
      )}
    </div>
  );
}
