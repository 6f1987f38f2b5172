import { ActionIcon, Skeleton } from '@mantine/core';
import { IconX } from '@tabler/icons-react';
import { lazy, Suspense } from 'react';
import { useTranslation } from 'react-i18next';
import type { ApiError } from '../../api/client';
import words from '../../ui/theme/words.module.css';
import { useServerMessage } from '../../ui/useServerMessage';
import { useSessionUrl } from '../../ui/useUrl';
import css from './Explorer.module.css';

/** As large as the rest of the page: it comes with the explorer alone. */
const PromqlEditor = lazy(() => import('./PromqlEditor'));

/** One of the explorer's queries, and what is wrong with it. */
export function ExplorerQuery(props: {
  /** Its place, where there are several. */
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
  const said = error === null ? null : translate(error);
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
      {said !== null && (
        <p className={css.error} role="alert" data-testid="expr-error">
          {said.message} <span className={words.dim}>{said.remedy}</span>
        </p>
      )}
    </div>
  );
}
