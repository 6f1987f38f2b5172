export const en = {
  nav: {
    events: 'Events',
  },
  intro: {
    events: 'What happened to nodes, workers, actors, jobs, and tasks, in order.',
  },
  events: {
    time: 'Time',
    what: 'Event',
    of: 'Subject',
    message: 'Message',
    count: 'Count',
    node: 'Node',
    job: 'Job',
    empty: 'No events yet',
    all: 'All types',
    kinds: 'Type',
    until: 'until {{time}}',
    open: 'Open',
    openFailures: 'View these failures',
    ERROR: 'Errors',
    WARNING: 'Warnings',
    INFO: 'Info',
    kind: {
      node: 'Nodes',
      worker: 'Workers',
      actor: 'Actors',
      job: 'Jobs',
      placement_group: 'Placement groups',
      task: 'Tasks',
      dataset: 'Datasets',
      loss: 'Dropped events',
    },
    event: {
      NODE_ALIVE: 'Node joined',
      NODE_DEAD: 'Node died',
      WORKER_DEAD: 'Worker exited',
      ACTOR_ALIVE: 'Actor started',
      ACTOR_RESTARTING: 'Actor restarting',
      ACTOR_DEAD: 'Actor died',
      JOB_STARTED: 'Job started',
      JOB_SUCCEEDED: 'Job succeeded',
      JOB_FAILED: 'Job failed',
      JOB_STOPPED: 'Job stopped',
      JOB_FINISHED: 'Job ended, exit status unknown',
      JOB_CUT_OFF: 'Session ended during the job',
      PLACEMENT_GROUP_PENDING: 'Placement group pending',
      PLACEMENT_GROUP_PREPARED: 'Placement group prepared',
      PLACEMENT_GROUP_CREATED: 'Placement group created',
      PLACEMENT_GROUP_REMOVED: 'Placement group removed',
      PLACEMENT_GROUP_RESCHEDULING: 'Placement group rescheduling',
      TASK_FAILED: 'Task failed',
      TASK_RETRIED: 'Attempt failed, retried',
      DATA_ISSUE: 'Ray Data warning',
      EVENTS_LOST: 'Events dropped',
    },
  },
};

declare module '../../base/i18n/texts' {
  interface PageTexts {
    events: typeof en;
  }
}
