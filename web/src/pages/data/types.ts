/** Response types of /api/data (docs/reference/libraries.md). */
export type {
  DatasetAnswer as Dataset,
  DatasetItem,
  DatasetPage,
  OperatorDetail as Operator,
} from '../../api/schema';
