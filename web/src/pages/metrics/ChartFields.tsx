import { ActionIcon, Button, Select, Switch, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { IconPlus, IconX } from '@tabler/icons-react';
import { useId, useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { type DashboardChart, UNITS } from '../../ui/charts/boards';
import { MetricChart } from '../../ui/charts/MetricChart';
import type { Query } from '../../ui/charts/series';
import { asWidth } from './Board';
import css from './ChartFields.module.css';
import { ChartTools } from './ChartTools';

/** A chart that is being edited. `id` stays the same when the chart is moved. */
export type Draft = DashboardChart & { id: number };

/** The fields of a chart in the editor, with a preview. */
export function ChartFields(props: {
  chart: Draft;
  first: boolean;
  last: boolean;
  onChange: (next: Partial<DashboardChart>) => void;
  onMove: (by: number) => void;
  onRemove: () => void;
}) {
  const { chart, onChange } = props;
  const { t } = useTranslation();
  const [queries] = useDebouncedValue(chart.queries, 600);
  const drawable = useMemo(() => queries.filter(({ expr }) => expr.trim() !== ''), [queries]);
  const id = useId();
  const setQuery = (at: number, next: Partial<Query>) =>
    onChange({
      queries: chart.queries.map((query, place) => (place === at ? { ...query, ...next } : query)),
    });
  return (
    <li className={css.chart} aria-labelledby={id} data-testid="editor-chart">
      <div className={css.fields}>
        <div className={css.row}>
          <TextInput
            id={id}
            size="xs"
            className={css.grow}
            label={t('metricsPage.chartTitle')}
            value={chart.title}
            maxLength={100}
            onChange={(event) => onChange({ title: event.currentTarget.value })}
            data-testid="chart-title"
          />
          <Select
            size="xs"
            w={140}
            label={t('metricsPage.unit')}
            data={UNITS.map((unit) => ({
              value: unit || 'auto',
              label: t(`metricsPage.units.${unit || 'auto'}`),
            }))}
            value={chart.unit || 'auto'}
            allowDeselect={false}
            onChange={(unit) => onChange({ unit: unit === 'auto' ? '' : (unit ?? '') })}
          />
          <Select
            size="xs"
            w={96}
            label={t('metricsPage.width')}
            data={['1', '2', '3'].map((width) => ({
              value: width,
              label: t('metricsPage.columns', { n: width }),
            }))}
            value={String(asWidth(chart.width))}
            allowDeselect={false}
            onChange={(width) => onChange({ width: asWidth(Number(width)) })}
            data-testid="chart-width"
          />
          <Switch
            size="xs"
            className={css.switch}
            label={t('metricsPage.stacked')}
            checked={chart.stacked === true}
            onChange={(event) => onChange({ stacked: event.currentTarget.checked })}
          />
          <ChartTools {...props} />
        </div>
        {chart.queries.map((query, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: lines have no name of their own.
          <div key={at} className={css.row}>
            <TextInput
              size="xs"
              className={`${css.grow} ${css.expr}`}
              label={at === 0 ? t('metricsPage.expr') : undefined}
              aria-label={t('metricsPage.expr')}
              value={query.expr}
              spellCheck={false}
              onChange={(event) => setQuery(at, { expr: event.currentTarget.value })}
              data-testid="chart-expr"
            />
            <TextInput
              size="xs"
              w={170}
              label={at === 0 ? t('metricsPage.legend') : undefined}
              aria-label={t('metricsPage.legend')}
              placeholder="{{node_ip}}"
              value={query.legend ?? ''}
              spellCheck={false}
              onChange={(event) => setQuery(at, { legend: event.currentTarget.value || undefined })}
            />
            {chart.queries.length > 1 && (
              <ActionIcon
                size={30}
                aria-label={t('metricsPage.removeLine')}
                title={t('metricsPage.removeLine')}
                onClick={() => onChange({ queries: chart.queries.filter((_, place) => place !== at) })}
              >
                <IconX size={15} />
              </ActionIcon>
            )}
          </div>
        ))}
        {chart.queries.length < 8 && (
          <Button
            size="compact-xs"
            variant="subtle"
            leftSection={<IconPlus size={13} />}
            onClick={() => onChange({ queries: [...chart.queries, { expr: '' }] })}
          >
            {t('metricsPage.addLine')}
          </Button>
        )}
      </div>
      <div className={css.preview}>
        {drawable.length > 0 && (
          <MetricChart
            title={chart.title || '…'}
            queries={drawable}
            unit={chart.unit || undefined}
            stacked={chart.stacked}
            height={120}
          />
        )}
      </div>
    </li>
  );
}
