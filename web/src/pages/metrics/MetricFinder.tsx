import { Autocomplete, Badge, Text } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { IconSearch } from '@tabler/icons-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { count } from '../../base/format';
import { firstLook } from '../../ui/charts/boards';
import { type MetricName, useMetricNames } from '../../ui/charts/useMetrics';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import css from './Explorer.module.css';

/** Finds a metric by its name or help text, and suggests a first expression for it. */
export function MetricFinder({ onExpr }: { onExpr: (expr: string) => void }) {
  const { t } = useTranslation();
  const [url] = useSessionUrl();
  const [text, setText] = useState('');
  const [metric, setMetric] = useState<MetricName | null>(null);
  const [q] = useDebouncedValue(text, 200);
  const items = useMetricNames(url.session, q).data?.items ?? [];
  const take = (name: string) => {
    const found = items.find((item) => item.name === name);
    if (found === undefined) return;
    setMetric(found);
    onExpr(firstLook(found.name, found.type));
  };
  return (
    <div className={css.finder}>
      <Autocomplete
        label={t('metricsPage.metric')}
        placeholder={t('metricsPage.metricPlaceholder')}
        value={text}
        onChange={setText}
        onOptionSubmit={take}
        data={[...new Set(items.map(({ name }) => name))]}
        limit={100}
        filter={({ options }) => options}
        maxDropdownHeight={380}
        comboboxProps={{ width: 420, position: 'bottom-start' }}
        leftSection={<IconSearch size={14} />}
        renderOption={({ option }) => {
          const item = items.find(({ name }) => name === option.value);
          return (
            <div className={css.option}>
              <span className={`${words.mono} ${words.breaks}`}>{option.value}</span>
              <span className={`${words.dim} ${words.ellipsis}`} title={item?.help}>
                {item?.help || item?.type}
              </span>
            </div>
          );
        }}
        data-testid="metric-name"
      />
      {metric !== null && <About metric={metric} onExpr={onExpr} />}
    </div>
  );
}

/** Help text of the chosen metric, and sums by each of its labels. */
function About({ metric, onExpr }: { metric: MetricName; onExpr: (expr: string) => void }) {
  const { t } = useTranslation();
  const look = firstLook(metric.name, metric.type);
  const summable = metric.type !== 'histogram';
  return (
    <div className={css.about}>
      <Text size="xs">
        {metric.help}{' '}
        <span className={words.dim}>
          {t('metricsPage.about', {
            type: metric.type,
            unit: metric.unit || t('metricsPage.noUnit'),
            n: count(metric.series),
          })}
        </span>
      </Text>
      {summable && (
        <div className={css.labels}>
          {Object.entries(metric.labels).map(([label, values]) => (
            <Badge
              key={label}
              component="button"
              size="sm"
              variant="default"
              tt="none"
              title={t('metricsPage.sumBy', { label })}
              onClick={() => onExpr(`sum by (${label}) (${look})`)}
            >
              {label} · {count(values)}
            </Badge>
          ))}
        </div>
      )}
    </div>
  );
}
