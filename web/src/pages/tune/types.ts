/** Response types of /api/v1/tune (docs/reference/libraries.md). */
export type {
  TuneExperimentAnswer as Experiment,
  TuneExperimentItem as ExperimentItem,
  TuneParameter,
  TuneTrial as Trial,
} from '../../api/schema';
