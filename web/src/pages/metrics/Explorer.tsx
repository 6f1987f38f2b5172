import { Autocomplete, Badge, Button, Menu, Text, Textarea } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { IconChevronDown, IconPlayerPlay, IconSearch } from '@tabler/icons-react';
import { type FormEvent, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ApiError } from '../../api/client';
import { count } from '../../base/format';
import { withSettings } from '../../base/url';
import { firstLook } from '../../ui/charts/boards';
import { ChartGrid } from '../../ui/charts/ChartGroup';
import { MetricChart } from '../../ui/charts/MetricChart';
import { useChart } from '../../ui/charts/useChart';
import { type MetricName, useMetricNames } from '../../ui/charts/useMetrics';
import { EmptyState } from '../../ui/EmptyState';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import { AddToDashboard } from './AddToDashboard';
import css from './Explorer.module.css';

/** Any expression of PromQL over what is on record, with the names that there are at hand. */
export function Explorer() {
  const { t } = useTranslation();
  const [url, change] = useSessionUrl();
  const expr = url.settings?.expr ?? '';
  const [draft, setDraft] = useState(expr);
  useEffect(() => setDraft(expr), [expr]);
  const [metric, setMetric] = useState<MetricName | null>(null);
  // The chart below asks for the same; what the server says of the expression belongs beside it.
  const { error } = useChart(url.session, expr === '' ? [] : [{ expr }], expr !== '');
  const exprError = error instanceof ApiError && error.status < 500 ? error : null;
  const run = (next: string) =>
    change((before) => withSettings(before, { expr: next.trim() || undefined }), { replace: true });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    run(draft);
  };
  const take = (found: MetricName) => {
    setMetric(found);
    run(firstLook(found.name, found.type));
  };
  return (
    <div data-testid="explorer">
      <form className={css.form} onSubmit={submit}>
        <NameField onTake={take} />
        <Textarea
          className={css.expr}
          label={t('metricsPage.expr')}
          placeholder={'avg by (node_ip) (ray_node_cpu_utilization)'}
          value={draft}
          autosize
          minRows={1}
          maxRows={8}
          spellCheck={false}
          onChange={(event) => setDraft(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && !event.shiftKey && !event.nativeEvent.isComposing) submit(event);
          }}
          error={
            exprError !== null && draft.trim() === expr ? (
              <span data-testid="expr-error">
                {exprError.message} <span className={words.dim}>{exprError.remedy}</span>
              </span>
            ) : undefined
          }
          data-testid="expr"
        />
        <div className={css.buttons}>
          <Button
            type="submit"
            leftSection={<IconPlayerPlay size={14} />}
            disabled={draft.trim() === ''}
            data-testid="expr-run"
          >
            {t('metricsPage.run')}
          </Button>
          <Menu position="bottom-end" shadow="md">
            <Menu.Target>
              <Button
                variant="default"
                rightSection={<IconChevronDown size={13} />}
                disabled={expr === '' || exprError !== null}
                data-testid="expr-add"
              >
                {t('metricsPage.addTo')}
              </Button>
            </Menu.Target>
            <Menu.Dropdown>
              <AddToDashboard chart={{ title: expr, queries: [{ expr }], unit: '', width: 1 }} />
            </Menu.Dropdown>
          </Menu>
        </div>
      </form>
      {metric !== null && <About metric={metric} onRun={run} />}
      {expr === '' ? (
        <EmptyState icon={<IconSearch size={26} />} title={t('metricsPage.exploreEmpty')}>
          {t('metricsPage.exploreText')}
        </EmptyState>
      ) : exprError === null ? (
        <ChartGrid>
          <MetricChart title={expr} queries={[{ expr }]} height={320} width={3} />
        </ChartGrid>
      ) : null}
    </div>
  );
}

/** Names as they are typed, with what each is. */
function NameField({ onTake }: { onTake: (metric: MetricName) => void }) {
  const { t } = useTranslation();
  const [url] = useSessionUrl();
  const [text, setText] = useState('');
  const [q] = useDebouncedValue(text, 200);
  const items = useMetricNames(url.session, q).data?.items ?? [];
  return (
    <Autocomplete
      label={t('metricsPage.metric')}
      placeholder={t('metricsPage.metricPlaceholder')}
      value={text}
      onChange={setText}
      onOptionSubmit={(name) => {
        const found = items.find((item) => item.name === name);
        if (found !== undefined) onTake(found);
      }}
      data={[...new Set(items.map(({ name }) => name))]}
      limit={100}
      filter={({ options }) => options}
      maxDropdownHeight={380}
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
  );
}

/** What the chosen metric is, and a sum by each of its labels. */
function About({ metric, onRun }: { metric: MetricName; onRun: (expr: string) => void }) {
  const { t } = useTranslation();
  const look = firstLook(metric.name, metric.type);
  const summable = metric.type !== 'histogram';
  return (
    <div className={css.about}>
      <Text size="sm">
        <span className={words.mono}>{metric.name}</span>{' '}
        <span className={words.dim}>
          {t('metricsPage.about', {
            type: metric.type,
            unit: metric.unit || t('metricsPage.noUnit'),
            n: count(metric.series),
          })}
        </span>{' '}
        {metric.help}
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
              onClick={() => onRun(`sum by (${label}) (${look})`)}
            >
              {label} · {count(values)}
            </Badge>
          ))}
        </div>
      )}
    </div>
  );
}
