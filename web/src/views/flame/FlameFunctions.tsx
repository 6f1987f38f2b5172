import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { FlameAnswer, FlameFrame } from '../../api/schema';
import { count } from '../../base/format';
import { type DockedColumn, DockedTable } from '../shared/DockedTable';
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
  const columns: DockedColumn<FlameFrame>[] = [
    {
      id: 'own',
      header: t('flame.own'),
      value: (row) => row.own,
      cell: (row) => valueText(row.own, answer.weight),
    },
    {
      id: 'value',
      header: t('flame.value'),
      value: (row) => row.value,
      cell: (row) => valueText(row.value, answer.weight),
    },
    { id: 'share', header: t('column.share'), cell: (row) => shareText(row.value, zoomed.frame.value) },
    {
      id: 'attempts',
      header: t('column.attempts'),
      value: (row) => row.attempts,
      cell: (row) => row.attempts > 0 && count(row.attempts),
    },
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
