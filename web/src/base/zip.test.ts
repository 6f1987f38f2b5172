import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { zip } from './zip';

const READ = `
import io, json, sys, zipfile
with zipfile.ZipFile(io.BytesIO(sys.stdin.buffer.read())) as file:
    assert file.testzip() is None
    print(json.dumps({name: file.read(name).decode() for name in file.namelist()}))
`;

test('Python reads the ZIP and verifies its checksums', async () => {
  const files = { 'train.py': 'print(1)', 'data/数.txt': '', 'a/b.bin': '\0\u00e9'.repeat(5000) };
  const entries = Object.entries(files).map(([path, text]) => ({
    path,
    data: new TextEncoder().encode(text),
  }));
  const input = Buffer.from(await zip(entries).arrayBuffer());
  expect(JSON.parse(execFileSync('python3', ['-c', READ], { input, encoding: 'utf8' }))).toEqual(files);
});

test('the same files are the same ZIP', async () => {
  const made = () => zip([{ path: 'train.py', data: new TextEncoder().encode('print(1)') }]).arrayBuffer();
  expect(await made()).toEqual(await made());
});
