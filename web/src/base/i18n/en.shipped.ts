/** What the rules that ship say of their alerts: as in alerts/shipped.yml, where a test compares them. */
export const enShipped = {
  shipped: {
    NodeDead: {
      summary: 'Node {{node}} is dead',
      description:
        "Ray marked this node dead unexpectedly. Its tasks and actors are lost or restarted. The node's page shows why it died.",
    },
    NodeSilent: {
      summary: 'Node {{node}} is not responding',
      description:
        "The node's agent stopped responding within the last 10 minutes, but Ray still considers the node alive. Either the node just died (Ray notices after about 15 s), or it is overloaded.",
    },
    NodeCpuHigh: {
      summary: 'CPU of node {{node}} at {{value}}%',
      description: 'Above 80% for a minute. The Gantt chart by node shows what is running there.',
    },
    NodeMemoryHigh: {
      summary: 'Memory of node {{node}} at {{value}}%',
      description: "Ray starts killing workers at 95%. The node's page shows which ones use the most.",
    },
    ObjectStoreNearlyFull: {
      summary: 'Object store of node {{node}} at {{value}}%',
      description: 'When it is full, Ray spills objects to disk. The memory page shows what holds them.',
    },
    GpuIdleWhileReserved: {
      summary: 'Idle but reserved GPUs on node {{node}}: {{value}}',
      description:
        'GPU utilization on this node has been below 5% for ten minutes, although tasks or actors reserve GPUs.',
    },
    TaskFailureRateHigh: {
      summary: '{{value}}% of task attempts are failing',
      description:
        'For at least five minutes, more than 10% of the attempts that ended in the last five minutes have failed.',
    },
    UnschedulableDemands: {
      summary: 'Unschedulable requests: {{value}}',
      description:
        'No node is big enough for these tasks or actors: they stay pending until one joins. The overview shows what they need.',
    },
    ActorRestartingInALoop: {
      summary: 'Actors of class {{name}} restarted {{value}} times in 5 minutes',
      description: 'They keep dying. Their panels on the actors page show why.',
    },
    ServeDeploymentUnhealthy: {
      summary: 'Deployment {{name}} of application {{application}} is unhealthy',
      description:
        "Serve calls it UNHEALTHY or DEPLOY_FAILED. The Serve page shows Serve's reason and the logs of its replicas.",
    },
    ServeReplicasMissing: {
      summary: 'Too few replicas of deployment {{name}} in application {{application}}: {{value}} missing',
      description:
        'For five minutes, fewer replicas have been running than Serve wants. They may lack resources, or fail when they start.',
    },
    ServeErrorRateHigh: {
      summary: '{{value}}% of requests to deployment {{name}} of application {{application}} are failing',
      description:
        'More than 5% of the requests of the last five minutes ended in an exception. The Serve page shows since when, and the logs of the replicas.',
    },
    TrainingRunFailed: {
      summary: 'Training runs failed in 5 minutes: {{value}}',
      description: 'The Train page shows the error of each attempt, and the logs of its workers.',
    },
    TuneExperimentFailed: {
      summary: 'Tuning experiments failed in 5 minutes: {{value}}',
      description: 'None of their trials succeeded. The Tune page shows the error and the log of each.',
    },
    TuneTrialsFailed: {
      summary: 'Trials failed in 5 minutes: {{value}}',
      description: 'The Tune page shows the error and the log of each. Other trials may go on.',
    },
    DatasetStalled: {
      summary:
        'Operator {{operator}} of dataset {{dataset}} is stalled, with blocks waiting for it: {{value}}',
      description:
        "It has output nothing for five minutes. Its tasks may hang or lack resources, or nothing takes its output. The Data page shows its tasks, its back pressure, and Ray Data's warnings.",
    },
    CostlyFinding: {
      summary: '{{script}}: {{title}} ({{function}}) costs {{value}}% of the time',
      description: 'The Insights page of the session shows what to change; so does rayscope diagnose.',
    },
    EventsDropped: {
      summary: 'Events dropped in 5 minutes: {{value}}',
      description: "Ray's agents could not deliver them. The banner of the session shows what is missing.",
    },
    RecordNotWritten: {
      summary: 'The record cannot be written',
      description: "Events are queued on disk in the meantime. The server's log and /api/health show why.",
    },
  },
};
