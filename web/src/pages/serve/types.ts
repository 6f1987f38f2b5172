/** Response types of /api/serve (docs/reference/libraries.md). */
export type {
  ServeApplicationAnswer as Application,
  ServeApplicationItem as ApplicationItem,
  ServeCalls as Calls,
  ServeChange as Change,
  ServeController as Controller,
  ServeDeployment as Deployment,
  ServePage as ServeAnswer,
  ServeProxy as NodeProxy,
  ServeReplica as Replica,
  ServeRequest as Request,
  ServeRequestPage as RequestPage,
  ServeRequestStep as RequestStep,
} from '../../api/schema';
