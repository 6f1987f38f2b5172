/** Response types of /api/v1/data (docs/reference/libraries.md). */
export type {
  DatasetAnswer as Dataset,
  DatasetItem,
  OperatorDetail as Operator,
} from '../../api/schema';
