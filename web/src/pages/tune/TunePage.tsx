import { IconAdjustmentsHorizontal } from '@tabler/icons-react';
import { LibraryPage } from '../../ui/LibraryPage';
import { useSessionUrl } from '../../ui/useUrl';
import { ExperimentDetails } from './ExperimentDetails';
import { ExperimentTable } from './ExperimentTable';

/** The Ray Tune page: all experiments, and details of the chosen or newest one. */
export default function TunePage() {
  const [url] = useSessionUrl();
  // An experiment or one of its trials, as EXPERIMENT/TRIAL.
  const [item = '', ...rest] = (url.item ?? '').split('/');
  return (
    <LibraryPage view="tune" icon={IconAdjustmentsHorizontal}>
      {(experiments) => {
        const id =
          (experiments.find((one) => one.experiment_id === item) ?? experiments[0])?.experiment_id ?? '';
        return (
          <>
            <ExperimentTable experiments={experiments} chosen={id} />
            <ExperimentDetails key={id} id={id} trialId={id === item ? rest.join('/') : ''} />
          </>
        );
      }}
    </LibraryPage>
  );
}
