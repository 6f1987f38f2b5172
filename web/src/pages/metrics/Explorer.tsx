import { Button, Menu, SegmentedControl } from '@mantine/core';
import { IconChevronDown, IconPlayerPlay, IconPlus, IconSearch } from '@tabler/icons-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ApiError } from '../../api/client';
import { withSettings } from '../../base/url';
import { ChartGrid } from '../../ui/charts/ChartGroup';
import { MetricChart } from '../../ui/charts/MetricChart';
import { MAX_QUERIES } from '../../ui/charts/queries';
import { EmptyState } from '../../ui/EmptyState';
import { useSessionUrl } from '../../ui/useUrl';
import { AddToDashboard } from './AddToDashboard';
import css from './Explorer.module.css';
import { ExplorerQuery } from './ExplorerQuery';
import { InstantTable } from './InstantTable';
import { MetricFinder } from './MetricFinder';
import { useDrafts } from './useDrafts';
import { useInstant } from './useInstant';

/**
 * PromQL over the recorded metrics, as one chart or as values at one moment. The queries are part of the URL.
 */
export function Explorer() {
  const { t } = useTranslation();
  const [url, change] = useSessionUrl();
  const drafts = useDrafts();
  const { exprs } = drafts;
  // The query that had the focus last. A metric chosen in the finder is inserted there.
  const [active, setActive] = useState<number | null>(null);
  const answers = useInstant(url.session, exprs);
  const errors = new Map(
    exprs.map((expr, at) => {
      const error = answers[at]?.error;
      return [expr, error instanceof ApiError && error.status < 500 ? error : null];
    }),
  );
  const isChecked = answers.every(({ isPending }) => !isPending);
  const queries = isChecked ? exprs.filter((expr) => !errors.get(expr)).map((expr) => ({ expr })) : [];
  // Let the server choose the unit, unless the queries have different ones.
  const unit = new Set(answers.flatMap(({ data }) => data?.unit ?? [])).size > 1 ? '' : undefined;
  const isInstant = url.settings?.mode === 'instant';
  const { rows } = drafts;
  const target = rows.find(({ id }) => id === active)?.id ?? rows[0]?.id;
  return (
    <div data-testid="explorer">
      <form
        className={css.form}
        onSubmit={(event) => {
          event.preventDefault();
          drafts.run();
        }}
      >
        <MetricFinder onExpr={(expr) => target !== undefined && drafts.run({ id: target, text: expr })} />
        <div className={css.queries}>
          {rows.map((row, at) => (
            <ExplorerQuery
              key={row.id}
              number={rows.length > 1 ? at + 1 : null}
              value={row.text}
              error={errors.get(row.text.trim()) ?? null}
              onChange={(text) => drafts.write(row.id, text)}
              onRun={() => drafts.run()}
              onFocus={() => setActive(row.id)}
              onRemove={rows.length > 1 ? () => drafts.remove(row.id) : undefined}
            />
          ))}
          <div className={css.buttons}>
            <Button
              type="submit"
              leftSection={<IconPlayerPlay size={14} />}
              disabled={rows.every(({ text }) => text.trim() === '')}
              data-testid="expr-run"
            >
              {t('metricsPage.run')}
            </Button>
            <Button
              variant="default"
              leftSection={<IconPlus size={14} />}
              disabled={rows.length >= MAX_QUERIES}
              onClick={drafts.add}
              data-testid="expr-more"
            >
              {t('metricsPage.addLine')}
            </Button>
            <Menu position="bottom-end" shadow="md">
              <Menu.Target>
                <Button
                  variant="default"
                  rightSection={<IconChevronDown size={13} />}
                  disabled={queries.length === 0}
                  data-testid="expr-add"
                >
                  {t('metricsPage.addTo')}
                </Button>
              </Menu.Target>
              <Menu.Dropdown>
                <AddToDashboard
                  chart={{ title: exprs.join(' · ').slice(0, 200), queries, unit: '', width: 1 }}
                />
              </Menu.Dropdown>
            </Menu>
            <SegmentedControl
              className={css.mode}
              size="xs"
              aria-label={t('metricsPage.show')}
              value={isInstant ? 'instant' : 'chart'}
              onChange={(value) =>
                change((before) => withSettings(before, { mode: value === 'instant' ? value : undefined }), {
                  replace: true,
                })
              }
              data={[
                { value: 'chart', label: t('metricsPage.overTime') },
                { value: 'instant', label: t('metricsPage.atOnce') },
              ]}
            />
          </div>
        </div>
      </form>
      {exprs.length === 0 && (
        <EmptyState icon={<IconSearch size={26} />} title={t('metricsPage.exploreEmpty')}>
          {t('metricsPage.exploreText')}
        </EmptyState>
      )}
      {!isInstant && queries.length > 0 && (
        <ChartGrid>
          <MetricChart title={exprs.join(' · ')} queries={queries} unit={unit} height={320} width={3} />
        </ChartGrid>
      )}
      {isInstant &&
        answers.map(({ data, error }, at) =>
          data === undefined || error !== null ? null : <InstantTable key={exprs[at]} answer={data} />,
        )}
    </div>
  );
}
