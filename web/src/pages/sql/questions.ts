import reference from './reference.json';

/** The tables of the record and example questions, from docs/reference/sql.md (`make types`). */
export const TABLES = reference.tables;
export type Table = (typeof TABLES)[number];

/** The key of a question among the translations: `What failed, and why?` has the key `whatFailedAndWhy`. */
function keyOf(question: string): string {
  const [sentence = ''] = question.split('?');
  return sentence
    .replaceAll(/[^a-zA-Z ]/g, '')
    .split(' ')
    .map((word, at) => (at === 0 ? word.toLowerCase() : word.charAt(0).toUpperCase() + word.slice(1)))
    .join('');
}

export const QUESTIONS = reference.examples.map(({ question, sql }) => ({
  key: keyOf(question),
  sql,
  /** Whether the answer is a course over time, which opens as a chart. */
  isChart: question.includes('at each moment'),
}));
