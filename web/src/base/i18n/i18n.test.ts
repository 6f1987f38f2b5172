import { createInstance } from 'i18next';
import { describe, expect, it } from 'vitest';
import { stateColors } from '../tokens';
import { addFormats } from './formats';
import { chooseLanguage, loadTexts } from './language';
import { type English, withPages } from './texts';

const en = withPages({}, await loadTexts('en')) as unknown as English;
const zh = withPages({}, await loadTexts('zh'));

function texts(node: object, path = ''): [string, string][] {
  return Object.entries(node).flatMap(([key, value]) =>
    typeof value === 'string'
      ? [[path + key, value] as [string, string]]
      : texts(value as object, `${path}${key}.`),
  );
}

/** The distinct placeholders of a text, with or without a format. */
const placeholders = (text: string) => [
  ...new Set([...text.matchAll(/\{\{(\w+)/g)].map((match) => match[1] as string)),
];

/** Whether the server has the English text, as it does for findings and for most of its messages. */
const ofServer = (key: string) => /^(insights\.(kinds|numbers)|serverMessage)\./.test(key);

describe('the languages', () => {
  const english = new Map(texts(en));
  const chinese = new Map(texts(zh).filter(([key]) => english.has(key) || !ofServer(key)));

  it('have the same keys', () => {
    expect([...chinese.keys()].sort()).toEqual([...english.keys()].sort());
  });
  it('have the same placeholders and no empty text', () => {
    for (const [key, text] of english) {
      expect(text, key).not.toBe('');
      expect(chinese.get(key), key).not.toBe('');
      // A translation may omit a placeholder but must not use an unknown one.
      for (const name of placeholders(chinese.get(key) ?? ''))
        expect(placeholders(text), key).toContain(name);
    }
  });
  it('name every task state that has a colour', () => {
    const withoutColour = ['STOPPED_BY_LIBRARIES', 'UNKNOWN'];
    expect(Object.keys(en.state).filter((state) => !withoutColour.includes(state))).toEqual(
      Object.keys(stateColors),
    );
  });
});

it('chooses by URL, then by the last choice, then by the browser', () => {
  expect(chooseLanguage('zh', 'en', ['en'])).toBe('zh');
  expect(chooseLanguage(null, 'en', ['zh-CN'])).toBe('en');
  expect(chooseLanguage(null, null, ['fr-FR', 'zh-Hans-CN', 'en'])).toBe('zh');
  expect(chooseLanguage('xx', null, ['fr'])).toBe('en');
});

/** Texts whose number is always greater than one or is not a count. */
const ALWAYS_PLURAL = new Set([
  'summary.pathHint', // names a function
  'summary.pathHintSoFar',
  'functions.top', // out of 100
  'shipped.ActorRestartingInALoop.summary', // at least three
  'alerts.badge', // has a separate singular text
  'memory.primary', // in bytes
  'data.pace', // names an operator
]);

/** In `1 of 1 nodes` and `1 in 1 objects` another number is counted, and some words have no singular. */
const PLURAL = /(?<!of |in )\b1 (\w+est )?(?!series|has\b|this\b)[a-z]+[^\Ws]s\b/;

it('has a singular', () => {
  const english = createInstance();
  void english.init({
    lng: 'en',
    resources: { en: { translation: en } },
    interpolation: { escapeValue: false },
  });
  addFormats(english);
  const say = english.t as (key: string, values: object) => string;
  expect(say('palette.count', { n: 1 })).toBe('1 result');
  expect(say('palette.count', { n: '1,234' })).toBe('1,234 results');
  expect(say('nodes.counted', { nodes: '1', workers: '0' })).toBe('1 node · 0 workers');
  for (const [path, text] of texts(en)) {
    const values = Object.fromEntries(placeholders(text).map((name) => [name, 1]));
    expect(say(path, values), path).not.toMatch(/\{\{|undefined/);
    if (!ALWAYS_PLURAL.has(path)) expect(say(path, values), path).not.toMatch(PLURAL);
  }
});
