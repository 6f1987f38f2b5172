import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, it } from 'vitest';

const SRC = join(import.meta.dirname, '../..');
const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' });
const read = (file: string) => readFileSync(join(SRC, file), 'utf8');

/** The classes that a style sheet defines. Classes of libraries are wrapped in `:global()`. */
function classesOf(sheet: string): string[] {
  const selectors = read(sheet)
    .replace(/\/\*.*?\*\//gs, '')
    .replace(/:global\([^)]*\)/g, '')
    .replace(/\{[^{}]*\}/g, '{}');
  return [...new Set([...selectors.matchAll(/\.([a-zA-Z][\w-]*)/g)].map(([, name]) => name ?? ''))];
}

it('has only element styles in global.css', () => {
  expect(classesOf('ui/theme/global.css')).toEqual([]);
});

it('refers to classes only by their module', () => {
  const named = files
    .filter((file) => /\.(tsx|css)$/.test(file))
    .filter((file) => /(?<![\w-])rs-[a-z]|\.rs-[a-z]/.test(read(file)));
  expect(named).toEqual([]);
});

it('uses every class of a module, and only those', () => {
  const used = new Map<string, Set<string>>();
  for (const file of files.filter((name) => name.endsWith('.tsx'))) {
    const source = read(file);
    for (const [, name, path] of source.matchAll(/^import (\w+) from '([^']+\.module\.css)';/gm)) {
      const sheet = normalize(join(dirname(file), path ?? ''));
      const known = used.get(sheet) ?? new Set();
      used.set(sheet, known);
      for (const [, key] of source.matchAll(new RegExp(`\\b${name}\\.(?!module\\b)(\\w+)`, 'g')))
        known.add(key ?? '');
    }
  }
  for (const sheet of files.filter((name) => name.endsWith('.module.css')))
    expect({ sheet, classes: classesOf(sheet).sort() }).toEqual({
      sheet,
      classes: [...(used.get(sheet) ?? [])].sort(),
    });
});

it('loads the shared sheets before those of components', () => {
  const imported = [...read('main.ts').matchAll(/^import '\.\/(.*\.css)';/gm)].map(([, path]) => path);
  const shared = files.filter((file) => /^ui\/theme\/.*\.css$/.test(file));
  expect(imported.sort()).toEqual(shared.sort());
});
