import { expect, it } from 'vitest';
import { xmlText } from './xml';

it('is well-formed for any characters in a name', () => {
  expect(xmlText('a\u0000b\u001b[31m<"&\'>\ttab\n中😀\ud83d\uffff')).toBe(
    'ab[31m&lt;&quot;&amp;&#39;&gt;\ttab\n中😀',
  );
});
