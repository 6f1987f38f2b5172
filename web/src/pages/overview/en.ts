export const en = {
  nav: { overview: 'Overview' },
  intro: { overview: 'The state of this session, what it spent its time on, and what failed.' },
  overview: {
    all: 'View all',
    loading: 'Loading',
    noMetrics: 'No metrics recorded for this session.',
    look: 'Show',
    use: 'Utilization',
    now: '{{text}}.',
    onAverage: 'On average {{text}}.',
    capacity: {
      clusterCpus: '{{total}} CPUs, {{reserved}} reserved, {{used}} used by Ray',
      clusterReservedMemory: '{{total}} of memory, {{reserved}} reserved, {{used}} used',
      clusterGpus: '{{total}} GPUs, {{reserved}} reserved, {{used}} used',
    },
    peaks: 'Peak: CPU {{cpu}} and memory {{memory}} on one node, object store {{store}} in total.',
    jobs: 'Running jobs',
    jobsEnded: 'Jobs',
    noJobs: 'No running jobs',
    noTasks: 'No tasks submitted',
    ended: '{{ended}} of {{all}} submitted ended',
    tasksIn: 'Tasks of this job: {{state}}',
    whySlow: 'Why is it slow?',
    why: 'Why {{job}} took {{lasted}}',
    whySoFar: 'Why {{job}} is taking {{lasted}} so far',
    whyMost: 'Most in {{name}}; {{more}} other function{{more, s}}',
    whyRest: 'Everything else on the critical path: {{rest}} ({{share}}%)',
    path: 'Critical path',
    pathHint: 'The chain of tasks that determines how long the job takes, on the Gantt chart',
    stack: 'Stack',
    stackHint: 'What is in flight, and what is waiting for what',
    flame: 'Flame graph',
    flameHint: 'Where the time went, by call path',
    failures: 'Failures',
    noFailures: 'No failures',
    failed: {
      final: '{{n}} task{{n, s}} failed',
      retrying: '{{n}} retrying',
      recovered: '{{n}} recovered by retry',
    },
    crashes: {
      title: 'Crashed workers',
      of: '{{total}} of {{workers}}',
      race: '{{n}} crashed in a race in Ray as they exited. It happens without Rayscope, too, on busy machines.',
      docs: 'Details',
      lines: 'Last log lines',
      more: 'and {{n}} more',
      verdict: {
        harmed: '{{n}} worker{{n, s}} crashed; {{harmed}} of them did harm.',
        unknown: '{{n}} worker{{n, s}} crashed; whether any harm was done is unknown.',
        none: '{{n}} worker{{n, s}} crashed; no harm was done.',
      },
      harm: {
        harmed: {
          attempts: '{{n}} task attempt{{n, s}} lost.',
          driver: '{{n}} task attempt{{n, s}} cut off with the job.',
          actor_died: 'Its actor died.',
          actor_restarted: 'Its actor had to be restarted.',
          calls: '{{n}} task{{n, s}} lost that it had submitted.',
          objects: '{{n}} attempt{{n, s}} failed because they needed its objects.',
        },
        unknown: {
          io_worker: "Harm unknown, because what Ray's spill and restore workers do is not recorded.",
          driver_open: 'Harm unknown, because the record does not show what the driver still had to do.',
          no_end: 'Harm unknown, because Ray has not reported how the worker ended.',
          actor_open: 'Harm unknown, because the end of its actor is not recorded.',
          untraced:
            'Harm unknown, because the worker was not traced, so the objects that it owned are not recorded.',
          owned:
            'Harm unknown, because the record does not show whether objects that it owned ({{n}}) were still needed.',
        },
        none: {
          job_ended: 'No harm: its job had ended.',
          released: 'No harm: Ray had already ended this worker.',
          idle: 'No harm: it was idle, and no object was lost.',
        },
      },
    },
    events: 'Latest events',
    noEvents: 'No events yet',
    alerts: 'Alerts',
    libraries: "Ray's libraries",
    noAlerts: 'No alerts firing',
    alertsEnded: 'Alerts at the end',
    noAlertsEnded: 'No alerts were firing at the end',
    pending: 'Pending scheduling',
    noPending: 'Nothing is pending',
    morePending: 'and {{n}} more kind{{n, s}}',
    asks: 'Needs {{what}}',
    asksNothing: 'Needs no resources',
    nodes: 'nodes',
    noAutoscaler: 'This cluster has no autoscaler, so it will not gain nodes by itself.',
    autoscaler: 'Autoscaler: {{active}} active, {{idle}} idle, {{pending}} starting.',
    autoscalerFailed: 'Could not start {{type}}: {{why}}',
    autoscalerInfeasible: 'No node type fits {{what}}.',
    times: '{{n}} time{{n, s}}',
    kind: {
      task: 'Tasks',
      actor: 'Actors',
    },
    health: {
      recording: 'Recording has problems: the newest data may be missing.',
      critical: 'Critical alerts firing: {{names}}.',
      noNodes: 'No live nodes; {{lost}} died.',
      nodesLost: '{{lost}} node{{lost, s}} died; {{nodes}} still alive.',
      never: "{{never}} request{{never, s}} can't be scheduled on this cluster: no node is big enough.",
      failing: '{{lately}} attempt{{lately, s}} failed in the last 5 minutes.',
      firing: 'Alerts firing: {{names}}.',
      pending: 'Cluster is full: {{running}} task{{running, s}} running, {{pending}} queued.',
      running: 'All good: {{running}} task{{running, s}} running or blocked on {{nodes}} node{{nodes, s}}.',
      waiting:
        'Nothing is running, but {{waiting}} task{{waiting, s}} {{waiting, plural(one: is; other: are)}} waiting.',
      idle: 'Nothing is running. {{ended}} attempt{{ended, s}} ended, {{failed}} of them failed.',
      nothing: 'No tasks recorded yet.',
      endedFailedJobs:
        'Ended after {{lasted}}: {{jobsFailed}} job{{jobsFailed, s}} and {{final}} task{{final, s}} failed; {{recovered}} recovered by retry.',
      endedFailed:
        'Ended after {{lasted}}: {{final}} task{{final, s}} failed, {{recovered}} recovered by retry.',
      endedRecovered: 'Ended after {{lasted}}: no task failed in the end; {{recovered}} recovered by retry.',
      endedOpen:
        'Ended after {{lasted}}: {{ended}} attempt{{ended, s}} ended; the end of {{open}} more is not on record.',
      endedCutOff:
        'Ended after {{lasted}}: {{finished}} attempt{{finished, s}} succeeded; the end of the job cut off {{cutOff}}.',
      endedWell: 'Ended after {{lasted}}: {{ended}} attempt{{ended, s}} succeeded, none failed.',
    },
  },
};

declare module '../../base/i18n/texts' {
  interface PageTexts {
    overview: typeof en;
  }
}
