import { IconTableRow } from '@tabler/icons-react';
import { LibraryPage } from '../../ui/LibraryPage';
import { useSessionUrl } from '../../ui/useUrl';
import { DatasetDetails } from './DatasetDetails';
import { DatasetTable } from './DatasetTable';

/** The Ray Data page: all datasets, and details of the chosen or newest one. */
export default function DataPage() {
  const [{ item }] = useSessionUrl();
  return (
    <LibraryPage view="data" icon={IconTableRow}>
      {(datasets) => {
        const chosen = (datasets.find((one) => one.dataset_id === item) ?? datasets[0])?.dataset_id ?? '';
        return (
          <>
            <DatasetTable datasets={datasets} chosen={chosen} />
            <DatasetDetails key={chosen} id={chosen} />
          </>
        );
      }}
    </LibraryPage>
  );
}
