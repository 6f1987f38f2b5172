import { useTranslation } from 'react-i18next';
import { bytes, count, duration, percent } from '../../base/format';
import { withFilter } from '../../base/url';
import { Dash } from '../../ui/Dash';
import { useSessionUrl } from '../../ui/useUrl';
import { DockedTable } from '../shared/DockedTable';
import shared from './gantt.module.css';
import { meanText } from './rangeText';
import type { RangeAnswer } from './useRange';

/** Functions that ran in the range, with their times. A click shows only one of them. */
export function RangeFunctions({ answer }: { answer: RangeAnswer }) {
  const [, change] = useSessionUrl();
  const { t } = useTranslation();
  const all = Math.max(1, answer.phases.executing);
  return (
    <DockedTable
      label={t('range.functions')}
      testId="gantt-range-functions"
      rows={answer.functions}
      left={answer.functions_total - answer.functions.length}
      keyOf={(row) => row.name}
      header={t('column.func_name')}
      nameOf={({ name }) => ({ name: name || t('common.unknown'), color: name || null })}
      columns={[
        {
          id: 'attempts',
          header: t('column.attempts'),
          value: (row) => row.attempts,
          cell: (row) => count(row.attempts),
        },
        {
          id: 'failed',
          header: t('column.failed'),
          value: (row) => row.failed,
          cell: (row) =>
            row.failed > 0 ? <span className={shared.bad}>{count(row.failed)}</span> : <Dash />,
        },
        {
          id: 'executing',
          header: t('time.executing'),
          value: (row) => row.executing_ns,
          cell: (row) => duration(row.executing_ns),
        },
        {
          id: 'share',
          header: t('column.share'),
          hint: t('range.functions'),
          cell: (row) => `${percent(row.executing_ns / all)}%`,
        },
        {
          id: 'blocked',
          header: t('time.blocked'),
          value: (row) => row.blocked_ns,
          cell: (row) => (row.blocked_ns > 0 ? duration(row.blocked_ns) : <Dash />),
        },
        {
          id: 'mean',
          header: t('range.concurrency'),
          value: (row) => row.mean,
          cell: (row) => meanText(row.mean),
        },
        {
          id: 'memory',
          header: t('column.peakMemory'),
          value: (row) => row.max_memory,
          cell: (row) => (row.max_memory === null ? <Dash /> : bytes(row.max_memory)),
        },
      ]}
      sort="-executing"
      onPick={({ name }) => name !== '' && change((before) => withFilter(before, 'func_name', name))}
    />
  );
}
