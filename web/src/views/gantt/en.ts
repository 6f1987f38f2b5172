export const en = {
  nav: { gantt: 'Gantt' },
  intro: {
    gantt:
      'What ran where and when, one lane per worker; the critical path shows what determined the total time.',
  },
  gantt: {
    by: 'Lanes',
    kind: { worker: 'Workers', node: 'Nodes', actor: 'Actors', function: 'Functions', path: 'Call tree' },
    path: 'Critical path',
    fit: 'Show all',
    export: 'Save',
    png: 'Picture (PNG)',
    json: 'Data (JSON)',
    chart: '{{n}} attempt{{n, s}} on {{lanes}} lane{{lanes, s}} over time',
    minimap: 'Whole run: drag to choose a time window',
    minimapHint: 'Running attempts over {{span}} (peak {{most}}). Drag to choose a time window.',
    empty: 'Nothing to show',
    emptyFiltered: 'No attempts match the filters.',
    shown: '{{n}} attempt{{n, s}} on {{lanes}} lane{{lanes, s}} in {{span}}',
    merged: '{{n}} shorter than {{least}} merged',
    leftOut: '{{n}} more in this window or on other lanes not shown',
    folded: '{{n}} drawn over others in the last row, because their lane is full',
    mouse: 'Ctrl+wheel zooms, drag pans, double-click zooms to a bar',
    pid: 'pid {{pid}}',
    notPlaced: 'Not yet assigned',
    noActor: 'Tasks without an actor',
    attempt: 'attempt {{n}}',
    state: {
      finished: 'finished',
      failed: 'failed',
      running: 'running',
      cut_off: 'cut off',
      waiting: 'waiting',
    },
    waiting: '{{n}} waiting',
    tipMerged: '{{n}} attempt{{n, s}} in {{span}}, {{busy}} total',
    tipFailed: '{{n}} failed',
    tipWaited: 'Waited {{span}} first',
    tipLongest: 'Longest:',
    tipLane: '{{n}} attempt{{n, s}}, {{busy}} total',
    tipLanePick: 'Click to show only this lane',
    walking: 'Finding the critical path…',
    reading: 'Loading…',
    pathHint:
      'Critical path of {{job}}: the {{links}} step{{links, s}} from start to end that determined how long it took.',
    pathSoFar:
      'Critical path of {{job}} so far: the {{links}} step{{links, s}} that determined how long it has taken. The last one is what it is waiting for now.',
    pathHeld:
      'For {{held}} ({{share}}%), the next step was ready but had to wait for a busy worker or actor. More CPUs or actors would help here.',
    pathUntraced: 'The driver is not traced, so the path assumes that it waited for everything it submitted.',
    pathCut: 'The path is too long; its first part is not shown.',
    without: 'If {{name}} took no time, the job would take at least {{without}}.',
    unexplained: 'Unknown',
    noFunction: 'No function recorded',
    retrying: 'Waiting to retry',
    workers: '{{n}} worker{{n, s}}',
    quiet: '{{n}} mostly idle worker{{n, s}}',
    quietHint: 'Each was busy for less than {{share}}% of the run.',
    peak: 'max {{n}}',
    runningAt: '{{n}} at once here, max {{most}}',
    unfold: 'Click to expand',
    fold: 'Click the arrow to collapse',
    found: '{{at}} of {{n}}',
    foundNone: 'None',
    foundHint: 'Bars in view. Enter: next, Shift+Enter: previous.',
  },
};

declare module '../../base/i18n/texts' {
  interface PageTexts {
    gantt: typeof en;
  }
}
