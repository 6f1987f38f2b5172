/** Response types of /api/tune (docs/reference/libraries.md). */
export type {
  TuneExperimentAnswer as Experiment,
  TuneExperimentItem as ExperimentItem,
  TuneExperimentPage,
  TuneParameter,
  TuneTrial as Trial,
} from '../../api/schema';
