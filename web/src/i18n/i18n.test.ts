import { describe, expect, it } from 'vitest';
import { stateColors } from '../theme/tokens';
import { en } from './en';
import { chooseLanguage } from './language';
import { zh } from './zh';

function texts(node: object, path = ''): [string, string][] {
  return Object.entries(node).flatMap(([key, value]) =>
    typeof value === 'string'
      ? [[path + key, value] as [string, string]]
      : texts(value as object, `${path}${key}.`),
  );
}

const placeholders = (text: string) => [...text.matchAll(/\{\{(\w+)\}\}/g)].map((match) => match[1]).sort();

describe('the languages', () => {
  const english = new Map(texts(en));
  const chinese = new Map(texts(zh));

  it('have the same keys', () => {
    expect([...chinese.keys()].sort()).toEqual([...english.keys()].sort());
  });
  it('have the same placeholders and no empty text', () => {
    for (const [key, text] of english) {
      expect(text, key).not.toBe('');
      expect(chinese.get(key), key).not.toBe('');
      // A language may leave one out, but can not ask for one that is not given.
      for (const name of placeholders(chinese.get(key) ?? ''))
        expect(placeholders(text), key).toContain(name);
    }
  });
  it('name every task state that has a colour', () => {
    expect(Object.keys(en.state).filter((state) => state !== 'UNKNOWN')).toEqual(Object.keys(stateColors));
  });
});

it('chooses by URL, then by the last choice, then by the browser', () => {
  expect(chooseLanguage('zh', 'en', ['en'])).toBe('zh');
  expect(chooseLanguage(null, 'en', ['zh-CN'])).toBe('en');
  expect(chooseLanguage(null, null, ['fr-FR', 'zh-Hans-CN', 'en'])).toBe('zh');
  expect(chooseLanguage('xx', null, ['fr'])).toBe('en');
});
