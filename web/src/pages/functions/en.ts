export const en = {
  nav: { functions: 'Functions' },
  intro: {
    functions: 'Where the time went, by function: click one to see its calls, slowest first.',
  },
  functions: {
    shareOfPath: 'Share of the critical path: what decided how long the job took',
    shareOfExecuting: 'Share of the executing time of all listed functions',
    byPath: 'Shares are of the critical path of {{job}}.',
    byExecuting: {
      pending: 'Shares are of the executing time until the critical path is computed.',
      failed: 'Shares are of the executing time: no critical path through tasks is known.',
      range: 'Shares are of the executing time: the critical path is of a whole job, not of a part of it.',
    },
    parts: 'Where the time went',
    partsHint:
      'The parts of the total: waiting without setup, setup, executing, awaiting, blocked, and storing',
    ofDuration: "Durations of this function's attempts",
    memory: { p50: 'Memory p50', p95: 'Memory p95', max: 'Peak memory' },
    all: '{{n}} function{{n, s}}. Click one to see its attempts, slowest first.',
    top: 'The {{n}} functions with the most time; there may be more. Click one to see its attempts, slowest first.',
    empty: 'No functions have run yet',
  },
};

declare module '../../base/i18n/texts' {
  interface PageTexts {
    functions: typeof en;
  }
}
