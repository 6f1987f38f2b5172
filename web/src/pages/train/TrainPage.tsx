import { IconSchool } from '@tabler/icons-react';
import { LibraryPage } from '../../ui/LibraryPage';
import { useSessionUrl } from '../../ui/useUrl';
import { RunDetails } from './RunDetails';
import { RunTable } from './RunTable';

/** The Ray Train page: all runs, and details of the chosen or newest one. */
export default function TrainPage() {
  const [{ item }] = useSessionUrl();
  return (
    <LibraryPage view="train" icon={IconSchool}>
      {(runs) => {
        const chosen = (runs.find((one) => one.run_id === item) ?? runs[0])?.run_id ?? '';
        return (
          <>
            <RunTable runs={runs} chosen={chosen} />
            <RunDetails key={chosen} id={chosen} />
          </>
        );
      }}
    </LibraryPage>
  );
}
