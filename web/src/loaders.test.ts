import { expect, it } from 'vitest';
import { VIEWS } from './base/url';
import { LINKS } from './links';
import { PAGE_CODE } from './loaders';

it('finds a page and its links for every view', () => {
  expect(Object.keys(PAGE_CODE).sort()).toEqual([...VIEWS].sort());
  expect(Object.keys(LINKS).sort()).toEqual([...VIEWS].sort());
});
