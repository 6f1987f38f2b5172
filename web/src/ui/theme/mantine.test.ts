import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';

const SRC = join(import.meta.dirname, '../..');
const STYLES = join(dirname(createRequire(import.meta.url).resolve('@mantine/core/styles.css')), 'styles');

it('has the styles of every component of Mantine that is used', () => {
  const imported = readFileSync(join(SRC, 'ui/theme/mantine.css'), 'utf8');
  const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.tsx'),
  );
  const used = new Set<string>();
  for (const file of files) {
    const source = readFileSync(join(SRC, file), 'utf8');
    for (const [, names] of source.matchAll(/import \{([^}]*)\} from '@mantine\/core'/g))
      for (const name of (names ?? '').split(',')) used.add(name.trim().replace(/^type /, ''));
  }
  expect(used.size).toBeGreaterThan(20);
  const lacking = [...used].filter(
    (name) => existsSync(join(STYLES, `${name}.css`)) && !imported.includes(`/${name}.css"`),
  );
  expect(lacking).toEqual([]);
});
