/** What the rules that ship say of their alerts: as in alerts/shipped.yml, where a test compares them. */
export const enShipped = {
  shipped: {
    NodeDead: {
      summary: 'Node {{node}} is dead',
      description:
        "Ray's GCS takes it for dead, and nobody asked it to go. Its actors and tasks are lost or begun again; the node's page says why it died.",
    },
    NodeSilent: {
      summary: 'Node {{node}} does not answer',
      description:
        'Its agent answered minutes ago and does not now, while Ray still takes the node for alive: it was lost just now (Ray notices after about 15 s), or it is overloaded.',
    },
    NodeCpuHigh: {
      summary: 'CPU of node {{node}} at {{value}} %',
      description: 'Above 80 % for a minute. The Gantt chart by node shows what runs there.',
    },
    NodeMemoryHigh: {
      summary: 'Memory of node {{node}} at {{value}} %',
      description: "From 95 % on Ray kills workers. The node's page shows which ones hold most.",
    },
    ObjectStoreNearlyFull: {
      summary: 'Object store of node {{node}} at {{value}} %',
      description: 'Beyond it Ray spills to disk. See which call sites hold the objects.',
    },
    GpuIdleWhileReserved: {
      summary: '{{value}} GPUs of node {{node}} are reserved and idle',
      description:
        "Less than 5 % of the node's GPUs is used for ten minutes, while tasks or actors hold some.",
    },
    TaskFailureRateHigh: {
      summary: '{{value}} % of the task attempts fail',
      description: 'More than a tenth of those that ended within five minutes, for five minutes on end.',
    },
    UnschedulableDemands: {
      summary: '{{value}} tasks or actors ask for resources that no node has',
      description: 'They wait for ever, unless such a node joins. The overview shows what they ask for.',
    },
    ActorRestartingInALoop: {
      summary: '{{name}} restarted {{value}} times within 5 minutes',
      description: 'Actors of this class die again and again. Their pages say of what.',
    },
    EventsDropped: {
      summary: '{{value}} events lost within 5 minutes',
      description:
        "Ray's agents could not keep what they were to send. The banner of the session says what is missing.",
    },
    RecordNotWritten: {
      summary: 'The record cannot be written',
      description: "Events wait on disk meanwhile. The server's log and /api/health say why.",
    },
  },
};
