import { SegmentedControl } from '@mantine/core';
import { IconTableOff } from '@tabler/icons-react';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { count, duration, fullTime } from '../../base/format';
import { withSettings } from '../../base/url';
import { EmptyState } from '../../ui/EmptyState';
import { Toolbar } from '../../ui/Toolbar';
import { DataTable } from '../../ui/table/DataTable';
import { TableMenu } from '../../ui/table/TableMenu';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import { ResultChart } from './ResultChart';
import css from './ResultView.module.css';
import type { Result, Row, Value } from './result';
import { resultColumns } from './resultColumns';

const keyOf = (row: Row) => String(row.at);

/** The result of a query as a table or a chart, with CSV export. */
export function ResultView({ result }: { result: Result }) {
  const { t } = useTranslation();
  const [url, change] = useSessionUrl();
  const isChart = url.settings?.mode === 'chart';
  const rows = useMemo(
    () => (result.rows as Value[][]).map((values, at): Row => ({ at, values })),
    [result.rows],
  );
  const columns = useMemo(() => resultColumns(result), [result]);
  return (
    <>
      <Toolbar
        options={
          <SegmentedControl
            size="xs"
            aria-label={t('sql.result')}
            value={isChart ? 'chart' : 'table'}
            onChange={(value) =>
              change((before) => withSettings(before, { mode: value === 'chart' ? 'chart' : undefined }), {
                replace: true,
              })
            }
            data={[
              { value: 'table', label: t('sql.table') },
              { value: 'chart', label: t('sql.chart') },
            ]}
          />
        }
        count={
          <span className={words.num} role="status" data-testid="sql-count" data-rows={rows.length}>
            {t('sql.rows', { n: count(rows.length), took: duration(result.elapsed_ns) })}
            {result.truncated && (
              <b title={t('sql.firstHint')} className={css.first}>
                {t('sql.first', { n: count(rows.length) })}
              </b>
            )}
          </span>
        }
        menu={<TableMenu name="query" columns={columns} list={{ rows }} />}
      >
        <span className={`${words.dim} ${words.small}`}>
          {t('sql.asOf', { time: fullTime(result.snapshot_ns).slice(0, 19) })}
        </span>
      </Toolbar>
      {isChart ? (
        <ResultChart result={result} />
      ) : (
        <DataTable
          testId="sql-table-result"
          rowTestId="sql-row"
          label={t('sql.result')}
          columns={columns}
          rows={rows}
          keyOf={keyOf}
          jsonOf={({ values }) => Object.fromEntries(result.columns.map(([name], at) => [name, values[at]]))}
          empty={
            <EmptyState icon={<IconTableOff size={26} />} title={t('sql.none')}>
              {t('sql.noneText')}
            </EmptyState>
          }
        />
      )}
    </>
  );
}
