export const en = {
  nav: { tasks: 'Tasks' },
  intro: {
    tasks: 'Every attempt of every task and actor call, with what it waited for and how long it took.',
  },
};

declare module '../../base/i18n/texts' {
  interface PageTexts {
    tasks: typeof en;
  }
}
