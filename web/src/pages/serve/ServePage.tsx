import { IconCloudComputing } from '@tabler/icons-react';
import { LibraryPage } from '../../ui/LibraryPage';
import { useSessionUrl } from '../../ui/useUrl';
import { ApplicationDetails } from './ApplicationDetails';
import { ApplicationTable } from './ApplicationTable';
import { InstanceDetails } from './InstanceDetails';

/** The Ray Serve page: all applications, the chosen (or first) one, and Serve's system actors. */
export default function ServePage() {
  const [{ item }] = useSessionUrl();
  return (
    <LibraryPage
      view="serve"
      icon={IconCloudComputing}
      after={({ proxies, controllers }) => <InstanceDetails proxies={proxies} controllers={controllers} />}
    >
      {(applications) => {
        const chosen = (applications.find((one) => one.name === item) ?? applications[0])?.name ?? '';
        return (
          <>
            <ApplicationTable applications={applications} chosen={chosen} />
            <ApplicationDetails key={chosen} name={chosen} />
          </>
        );
      }}
    </LibraryPage>
  );
}
