import { useTranslation } from 'react-i18next';
import type { DatasetItem } from '../../api/schema';
import { count } from '../../base/format';
import { LibraryTable } from '../../ui/LibraryTable';
import css from './data.module.css';
import { Progress } from './Progress';

export function DatasetTable({ datasets, chosen }: { datasets: DatasetItem[]; chosen: string }) {
  const { t } = useTranslation();
  return (
    <LibraryTable
      items={datasets}
      chosen={chosen}
      title={t('data.dataset')}
      idOf={(dataset) => dataset.dataset_id}
      nameOf={(dataset) => dataset.name}
      columns={[
        { title: t('data.progress'), cell: (dataset) => <Progress of={dataset} /> },
        { title: t('data.rows'), isNumber: true, cell: (dataset) => count(dataset.total_rows) },
        { title: t('data.operators'), isNumber: true, cell: (dataset) => count(dataset.operators.length) },
      ]}
      className={css.table}
      testId="datasets"
      rowTestId="dataset"
    />
  );
}
