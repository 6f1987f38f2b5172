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
      summary: 'CPU of node {{node}} at {{value}} %',
      description: 'Above 80 % for a minute. The Gantt chart by node shows what is running there.',
    },
    NodeMemoryHigh: {
      summary: 'Memory of node {{node}} at {{value}} %',
      description: "Ray starts killing workers at 95 %. The node's page shows which ones use the most.",
    },
    ObjectStoreNearlyFull: {
      summary: 'Object store of node {{node}} at {{value}} %',
      description: 'When it is full, Ray spills objects to disk. See which call sites hold them.',
    },
    GpuIdleWhileReserved: {
      summary: 'Reserved but idle GPUs on node {{node}}: {{value}}',
      description:
        'GPU utilization on this node has been below 5 % for ten minutes, although tasks or actors reserve GPUs.',
    },
    TaskFailureRateHigh: {
      summary: '{{value}} % of task attempts fail',
      description:
        'More than 10 % of the attempts that ended within five minutes failed, for at least five minutes.',
    },
    UnschedulableDemands: {
      summary: 'Requests that no node can satisfy: {{value}}',
      description:
        'These tasks or actors stay pending until a node that fits joins. The overview shows what they need.',
    },
    ActorRestartingInALoop: {
      summary: '{{name}} restarted {{value}} times within 5 minutes',
      description: 'Actors of this class keep dying. Their pages show why.',
    },
    EventsDropped: {
      summary: 'Events dropped within 5 minutes: {{value}}',
      description: "Ray's agents could not deliver them. The banner of the session shows what is missing.",
    },
    RecordNotWritten: {
      summary: 'The record cannot be written',
      description: "Events queue on disk in the meantime. The server's log and /api/health show why.",
    },
  },
};
