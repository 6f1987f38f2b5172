import { useTranslation } from 'react-i18next';
import type { RangeFunction } from '../../api/schema';
import { bytes, count, duration, percent } from '../../base/format';
import { withFilter } from '../../base/url';
import { useSessionUrl } from '../../ui/useUrl';
import { type DockedColumn, DockedTable, numbers } from '../shared/DockedTable';
import shared from './gantt.module.css';
import { meanText } from './rangeText';
import type { RangeAnswer } from './useRange';

/** Functions that ran in the range, with their times. A click shows only one of them. */
export function RangeFunctions({ answer }: { answer: RangeAnswer }) {
  const [, change] = useSessionUrl();
  const { t } = useTranslation();
  const all = Math.max(1, answer.phases.executing);
  const columns: DockedColumn<RangeFunction>[] = [
    numbers('attempts', t('column.attempts'), (row) => row.attempts, count),
    numbers(
      'failed',
      t('column.failed'),
      (row) => row.failed,
      (n) => <span className={shared.bad}>{count(n)}</span>,
    ),
    numbers('executing', t('time.executing'), (row) => row.executing_ns, duration),
    { id: 'share', header: t('column.share'), cell: (row) => `${percent(row.executing_ns / all)}%` },
    numbers('blocked', t('time.blocked'), (row) => row.blocked_ns, duration),
    numbers('mean', t('range.concurrency'), (row) => row.mean, meanText),
    numbers('memory', t('column.peakMemory'), (row) => row.max_memory, bytes),
  ];
  return (
    <DockedTable
      label={t('range.functions')}
      testId="gantt-range-functions"
      rows={answer.functions}
      left={answer.functions_total - answer.functions.length}
      keyOf={(row) => row.name}
      header={t('column.func_name')}
      nameOf={({ name }) => ({ name: name || t('common.unknown'), color: name || null })}
      columns={columns}
      sort="-executing"
      onPick={({ name }) => change((before) => withFilter(before, 'func_name', name))}
      isThere={({ name }) => name !== ''}
    />
  );
}
