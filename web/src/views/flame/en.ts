export const en = {
  nav: { flame: 'Flame graph' },
  intro: {
    flame:
      'Time by call path across the cluster: the wider a frame, the more time was spent in it and below.',
  },
  flame: {
    label: 'Flame graph: arrow keys move, Enter zooms in, Escape zooms out',
    summary: '{{name}}: {{value}}; {{n}} frame{{n, s}}',
    loading: 'Computing…',
    empty: 'Nothing has run yet',
    emptyFiltered: 'No matching attempts',
    attemptsOf: '{{n}} matching attempt{{n, s}}.',
    nothing: {
      critical_path: 'There is no critical path yet',
      executing: 'None of these attempts has executed yet',
      awaiting: 'None of these attempts awaited anything but tasks',
      duration: 'None of these attempts has run yet',
      count: 'No attempts',
      cpu: 'CPU time is unknown: only the tracer records it, and these workers were not traced',
      bytes: 'Returned bytes are unknown: only the tracer records them, and these workers were not traced',
      memory_time:
        'Memory is unknown: the tracer measures it at the end of attempts, and none had a process of its own',
    },
    crumbs: 'Path from the driver to this frame',
    driver: 'Driver',
    unknown: '(call path unknown)',
    lost: { left_out: '(deep stack: frames left out)', unknown: '(frame not recorded)' },
    other: '({{n}} smaller)',
    driverText: 'What the drivers called, with everything below. Click a box to zoom in.',
    unknownText:
      'The callers of these attempts are unknown: their definition, or that of a caller, never arrived.',
    libraryText: 'Calls of this library that follow each other, as one frame.',
    whole: '{{value}} in {{n}} attempt{{n, s}}',
    wholeCount: '{{n}} attempt{{n, s}}',
    found: '{{n}} frame{{n, s}} found: {{share}}',
    folded: '{{n}} of {{all}} frame{{all, s}} merged',
    foldedHint: 'The smallest frames under each frame are merged into one. Zoom in to see them.',
    weight: 'Box width',
    weights: {
      critical_path: 'Critical path',
      cpu: 'CPU',
      count: 'Attempts',
      bytes: 'Returned',
      memory_time: 'Memory × time',
    },
    weightHint: {
      critical_path: 'How much of the critical path, which decided how long the job took, lies here',
      cpu: 'CPU time of the worker process during the attempt, as measured by the tracer',
      count: 'Number of attempts',
      bytes: 'Bytes that the attempts returned',
      memory_time:
        'Peak memory of each attempt × its duration, added up: at most this much was held over time',
    },
    peakMax: 'max {{size}}',
    notMeasured: 'not measured',
    memoryShared: '{{n}} shared a process',
    memoryHint:
      'Not known: attempts that have not ended, were killed, or are not traced. The memory of a process that attempts shared is not added up, because it would count several times.',
    cpuKnown: 'known for {{n}} of {{all}}',
    cpuShare: '{{share}} of executing time',
    order: 'Box order',
    orders: { size: 'Largest first', time: 'By time' },
    baseline: 'Compare with a job',
    against: 'Compared with {{job}}',
    less: 'less than baseline',
    more: 'more than baseline',
    lines: 'Lines',
    linesHint:
      'Show the sampled lines of code of all attempts of this function. The wider a line, the more samples it was in.',
    linesOf: '{{n}} sample{{n, s}} of all attempts of {{name}}',
    samples: 'Samples',
    native: 'In C libraries',
    find: 'Find a function',
    details: 'Frame',
    value: 'Total (incl. children)',
    own: 'Self',
    sumHint: 'Times are added up: attempts that ran at the same time each count in full.',
    before: 'Baseline',
    quantiles: 'p50 · p95 · max',
    first: 'First start',
    inGantt: 'Gantt chart',
    callers: 'Called by',
    callees: 'Calls',
    functions: 'Functions in this frame',
    change: 'Change',
    none: 'None',
  },
};

declare module '../../base/i18n/texts' {
  interface PageTexts {
    flame: typeof en;
  }
}
