/** The answers of /api/serve (docs/reference/libraries.md). */
export type {
  ServeApplicationAnswer as Application,
  ServeApplicationItem as ApplicationItem,
  ServeChange as Change,
  ServeController as Controller,
  ServeDeployment as Deployment,
  ServePage as ServeAnswer,
  ServeProxy as NodeProxy,
  ServeReplica as Replica,
} from '../../api/schema';
