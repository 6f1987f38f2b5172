import { expect, it } from 'vitest';
import { csvOf } from './csv';

it('writes CSV that a spreadsheet reads unchanged', () => {
  const rows = [
    ['say "hi"\nthere', null],
    ['', 2],
    [{ CPU: 1 }, undefined],
  ];
  expect(csvOf(['a,b', 'n'], rows)).toBe('"a,b",n\r\n"say ""hi""\nthere",\r\n,2\r\n"{""CPU"":1}",\r\n');
});

it('leaves no formula for a spreadsheet to evaluate', () => {
  const rows = [['=HYPERLINK("x")', -1, '-9007199254740993', '-x']];
  expect(csvOf(['a', 'b', 'c', 'd'], rows)).toBe(
    'a,b,c,d\r\n"\'=HYPERLINK(""x"")",-1,-9007199254740993,\'-x\r\n',
  );
});
