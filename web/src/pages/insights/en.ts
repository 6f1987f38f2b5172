export const en = {
  nav: { insights: 'Insights' },
  intro: {
    insights: 'What slowed a job down, what would help, and how much time that would save.',
  },
};

declare module '../../base/i18n/texts' {
  interface PageTexts {
    insights: typeof en;
  }
}
