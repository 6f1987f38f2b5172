export const en = {
  nav: { failures: 'Failures' },
  intro: {
    failures: 'Failures grouped by error and source line, those that no retry recovered first.',
  },
  failures: {
    empty: 'No failures',
    emptyText: 'No attempt has failed in this session.',
    groups: '{{n}} of {{of}} group{{of, s}}, {{attempts}} failed attempt{{attempts, s}}',
    outcome: 'Outcome',
    outcomes: { final: 'Failed', retrying: 'Retrying', recovered: 'Recovered by retry' },
    tasks: 'Tasks: {{final}} failed, {{retrying}} retrying, {{recovered}} recovered by retry',
    count: 'Count',
    countHint: 'Failed attempts',
    line: 'Source line',
    lineHint: 'Innermost line of your code in the traceback',
    copyLine: 'Copy {{path}}',
    newest: 'Traceback and log of the newest attempt:',
    stopped: 'Stopped by libraries: {{n}}',
    stoppedHint:
      'Attempts that Ray’s libraries cancelled, or lost when they ended an actor of their own. Ray says that they failed; here they do not count as failures.',
    first: 'First seen',
    last: 'Last seen',
    more: 'Showing {{shown}} of {{n}}. View all failed attempts of this function with this error type',
  },
};

declare module '../../base/i18n/texts' {
  interface PageTexts {
    failures: typeof en;
  }
}
