import { Group, Select } from '@mantine/core';
import { IconChartLine } from '@tabler/icons-react';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { memo } from 'react';
import { useTranslation } from 'react-i18next';
import { refreshEnded } from '../../api/connection';
import { answerTo } from '../../api/queries';
import { type CataloguePage, filled, type Variable } from '../../ui/charts/boards';
import { ChartGrid } from '../../ui/charts/ChartGroup';
import { MetricChart } from '../../ui/charts/MetricChart';
import { useChartProps } from '../../ui/charts/useChartProps';
import { useCatalogueCharts } from '../../ui/charts/useMetrics';
import { EmptyState } from '../../ui/EmptyState';
import { useNodeTitle } from '../../ui/NodeLabel';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import { AddToDashboard } from './AddToDashboard';

/** A page of the server's chart catalogue, in the user's language. */
export const Board = memo(function Board({ page }: { page: CataloguePage }) {
  const { t, i18n } = useTranslation();
  const [url, change] = useSessionUrl();
  const [variable] = page.variables;
  const choices = useChoicesOf(variable);
  const itemInUrl = url.item;
  const chosen = choices?.some((choice) => choice.value === itemInUrl)
    ? itemInUrl
    : choices?.at(variable?.name === 'job_id' ? -1 : 0)?.value; // the newest job
  const values: Record<string, string | undefined> =
    variable === undefined ? {} : { [variable.name]: chosen };
  const label =
    variable !== undefined && i18n.exists(`metricsPage.variable.${variable.name}`)
      ? t(`metricsPage.variable.${variable.name}` as 'metricsPage.variable.node_id')
      : variable?.name;
  const propsOf = useChartProps();
  const charts = useCatalogueCharts(url.session, page.name);
  return (
    <>
      {variable !== undefined && (
        <Group gap={8} wrap="nowrap" px={16} pt={10}>
          <span className={words.dim}>{label}</span>
          <Select
            size="xs"
            w={340}
            searchable
            aria-label={label}
            placeholder={label}
            data={choices ?? []}
            value={chosen ?? null}
            allowDeselect={false}
            onChange={(item) => item && change((before) => ({ ...before, item }))}
            data-testid="board-variable"
          />
        </Group>
      )}
      {variable !== undefined && choices?.length === 0 ? (
        <EmptyState icon={<IconChartLine size={26} />} title={t('metricsPage.nothingFor')}>
          {t('metricsPage.nothingForText', { metric: variable.metric })}
        </EmptyState>
      ) : (
        <ChartGrid>
          {charts.map((chart) => {
            const queries = filled(chart.queries, values);
            if (queries === null) return null;
            const props = { ...propsOf(chart, queries), width: asWidth(chart.width) };
            return <MetricChart key={chart.key} {...props} menu={<AddToDashboard chart={props} />} />;
          })}
        </ChartGrid>
      )}
    </>
  );
});

export const asWidth = (width: number | undefined): 1 | 2 | 3 => (width === 2 || width === 3 ? width : 1);

interface Choice {
  value: string;
  label: string;
}

/** The values of a variable in the session; undefined while they are loading. */
function useChoicesOf(variable: Variable | undefined): Choice[] | undefined {
  const [url] = useSessionUrl();
  const nodeTitle = useNodeTitle();
  const { label = '', metric = '' } = variable ?? {};
  const { data } = useQuery({
    ...answerTo('/metrics/label-values', { session: url.session, label, name: metric }),
    enabled: variable !== undefined,
    placeholderData: keepPreviousData,
    refetchInterval: refreshEnded,
  });
  return data?.items
    .map((value) => ({ value, label: label === 'node_id' ? nodeTitle(value) : value }))
    .sort((a, b) => a.label.localeCompare(b.label, 'en', { numeric: true }));
}
