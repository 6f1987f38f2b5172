import { expect, it } from 'vitest';
import { VIEWS } from './base/url';
import { LINKS } from './links';
import { PAGES } from './loaders';

it('finds a page and its links for every view', () => {
  expect(Object.keys(PAGES).sort()).toEqual([...VIEWS].sort());
  expect(Object.keys(LINKS).sort()).toEqual([...VIEWS].sort());
});
