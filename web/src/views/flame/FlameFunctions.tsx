import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { FlameAnswer, FlameFrame } from '../../api/schema';
import { count } from '../../base/format';
import { type DockedColumn, DockedTable, numbers } from '../shared/DockedTable';
import { changeOf, functionsBelow, type Node, scaleOf, shareText } from './flame';
import { useFrameName, valueText } from './flameText';

/** The functions at or below the zoomed frame. A click zooms in on the largest frame of one. */
export function FlameFunctions(props: {
  answer: FlameAnswer;
  zoomed: Node;
  /** Whether shares of the total are compared instead of values. */
  relative: boolean;
  onZoom: (frame: string) => void;
}) {
  const { answer, zoomed } = props;
  const { t } = useTranslation();
  const nameOf = useFrameName();
  const rows = useMemo(
    () => functionsBelow(zoomed).filter((row) => row.value > 0 || row.baseline_value),
    [zoomed],
  );
  const isCompared = zoomed.frame.baseline_value !== null;
  const scale = scaleOf(answer, props.relative);
  const text = (value: number) => valueText(value, answer.weight);
  const columns: DockedColumn<FlameFrame>[] = [
    numbers('own', t('flame.own'), (row) => row.own, text),
    numbers('value', t('flame.value'), (row) => row.value, text),
    { id: 'share', header: t('column.share'), cell: (row) => shareText(row.value, zoomed.frame.value) },
    numbers('attempts', t('column.attempts'), (row) => row.attempts, count),
  ];
  if (isCompared)
    columns.push({
      id: 'change',
      header: t('flame.change'),
      value: (row) => Math.abs(changeOf(row, scale).by),
      cell: (row) => changeOf(row, scale).text,
    });
  return (
    <DockedTable
      label={t('flame.functions')}
      testId="flame-functions"
      rows={rows}
      keyOf={(row) => `${row.kind} ${row.name}`}
      header={t('column.func_name')}
      nameOf={(row) => ({ name: nameOf(row), color: row.kind === 'call' && !isCompared ? row.name : null })}
      columns={columns}
      sort={isCompared ? '-change' : '-value'}
      onPick={(row) => props.onZoom(row.id)}
    />
  );
}
