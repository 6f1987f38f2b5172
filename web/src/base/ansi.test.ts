import { expect, it } from 'vitest';
import { stripAnsi } from './ansi';

it('removes colours, cursor moves and links', () => {
  expect(stripAnsi('\u001b[36mray::f()\u001b[39m \u001b[1;31mfailed\u001b[0m')).toBe('ray::f() failed');
  expect(stripAnsi('\u001b]8;;http://x\u0007link\u001b]8;;\u0007\u001b[2K')).toBe('link');
  expect(stripAnsi('a [not] a sequence')).toBe('a [not] a sequence');
});
