export const en = {
  nav: { data: 'Data' },
  intro: {
    data: 'The datasets of Ray Data: how far they are, and which operator holds up which.',
  },
  data: {
    none: 'No dataset on record',
    noneText: 'A dataset appears here once Ray Data executes it, for instance by iterating over it.',
    dataset: 'Dataset',
    progress: 'Progress',
    rows: 'Rows',
    operator: 'Operator',
    operators: 'Operators',
    blocks: '{{count}} block{{n, s}}',
    tasksOf: '{{count}} task{{n, s}}',
    left: 'about {{time}} left at this pace',
    pace: '{{name}} sets the pace: its tasks took {{share}}% of all task time, without the cold start of workers.',
    paceQueue: '{{count}} block{{n, s}} waiting for it.',
    queued: '{{n}} queued',
    queuedHint: 'Blocks waiting for this operator',
    inputs: 'Which operator gives which its blocks',
    orderOnly:
      "In Ray Data's order. Which operator gives which its blocks is unknown: only the tracer records it.",
    warnings: 'Warnings from Ray Data',
    warningsHint: 'The first of each operator and kind',
    warnedAt: 'Time',
    issue: 'Issue',
    message: 'Message',
    lanes: 'Running tasks by operator',
    lane: '{{name}}: at most {{n}} at a time',
    atOnce: 'max {{n}}',
    tasks: 'Tasks by operator',
    noTasks: 'No tasks on record for these operators.',
    timeShare: 'Share of task time',
    taskCount: 'Tasks',
    failed: 'Failed',
    p50: 'Median',
    p95: 'p95',
    actorStart: 'Actor start',
    actorStartHint: 'Median time from the creation of an actor of the pool until it is ready',
    cold: 'Cold start',
    coldHint: 'What the first task in each worker took beyond the others: it imports what it needs',
    slowest: 'Slowest',
    slowestHint: 'The slowest task, and how many times the median it took',
    output: 'Output',
    largest: 'Largest output',
    largestHint: 'The largest output of a task, and how many times the median it is',
    noSeries:
      'Ray has no series of this dataset in this time range. It reports them every 10 s or so, which a short dataset may not live to see.',
    overTime: 'Over time',
    charts: {
      queuedBlocks: 'Queued blocks',
      rowsPerSecond: 'Rows output per second',
      submissionBackpressure: 'Time held back from starting tasks',
      outputBackpressure: 'Time held back from output',
      cpus: 'CPUs in use',
      objectStore: 'Object store memory',
      spilled: 'Spilled to disk',
    },
  },
};

declare module '../../base/i18n/texts' {
  interface PageTexts {
    data: typeof en;
  }
}
