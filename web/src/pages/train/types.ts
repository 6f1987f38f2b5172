/** Response types of /api/train (docs/reference/libraries.md). */
export type {
  RankTimes,
  ReportedMetric,
  StepCell,
  TrainAttempt,
  TrainRunAnswer as TrainRun,
  TrainRunItem,
  TrainRunPage,
  TrainWorker,
} from '../../api/schema';
