import { expect, test } from 'vitest';
import { zip } from './zip';

test('files become a ZIP', async () => {
  const text = (words: string) => new TextEncoder().encode(words);
  const made = zip([
    { path: 'train.py', data: text('print(1)') },
    { path: 'data/数.txt', data: text('') },
  ]);
  // Python's zipfile reads it and finds the checksums right.
  expect(Buffer.from(await made.arrayBuffer()).toString('base64')).toBe(
    'UEsDBBQAAAgAAAAAIQAIp5DtCAAAAAgAAAAIAAAAdHJhaW4ucHlwcmludCgxKVBLAwQUAAAIAAAAACEAAAAAAAAAAAAAAAAADAAAAGRhdGEv5pWwLnR4dFBLAQIUABQAAAgAAAAAIQAIp5DtCAAAAAgAAAAIAAAAAAAAAAAAAAAAAAAAAAB0cmFpbi5weVBLAQIUABQAAAgAAAAAIQAAAAAAAAAAAAAAAAAMAAAAAAAAAAAAAAAAAC4AAABkYXRhL+aVsC50eHRQSwUGAAAAAAIAAgBwAAAAWAAAAAAA',
  );
});
