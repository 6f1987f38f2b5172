/** Response types of /api/v1/train (docs/reference/libraries.md). */
export type {
  RankTimes,
  ReportedMetric,
  StepCell,
  TrainAttempt,
  TrainRunAnswer as TrainRun,
  TrainRunItem,
  TrainWorker,
} from '../../api/schema';
