/** Response types of /api/v1/serve (docs/reference/libraries.md). */
export type {
  ServeApplicationAnswer as Application,
  ServeApplicationItem as ApplicationItem,
  ServeCalls as Calls,
  ServeChange as Change,
  ServeController as Controller,
  ServeDeployment as Deployment,
  ServeProxy as NodeProxy,
  ServeReplica as Replica,
  ServeRequest as Request,
  ServeRequestStep as RequestStep,
} from '../../api/schema';
