import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { enShipped } from '../../base/i18n/en.shipped';
import { escaped, shippedText } from './shipped';

const rules = readFileSync('../src/rayscope/alerts/shipped.yml', 'utf8');

/** With one space for any, and nothing in its places. */
const bare = (text: string) => text.replace(/\s+/g, ' ').replace(/\{\{.*?\}\}/g, '{{}}');

it('has the texts of all rules that ship', () => {
  const names = [...rules.matchAll(/- alert: (\w+)/g)].map(([, name]) => name);
  expect(Object.keys(enShipped.shipped).sort()).toEqual(names.sort());
  for (const [name, texts] of Object.entries(enShipped.shipped)) {
    const rule = rules.slice(rules.indexOf(`alert: ${name}\n`)).split('- alert: ')[0] ?? '';
    for (const [field, text] of Object.entries(texts))
      expect(bare(rule), name).toMatch(new RegExp(`${field}: (>- |')?${escaped(bare(text))}(?= |'|$)`));
  }
});

it('knows a shipped text with and without its places filled in', () => {
  expect(shippedText('NodeCpuHigh', 'summary', 'CPU of node 10.0.0.7 at 93%')).toEqual({
    key: 'shipped.NodeCpuHigh.summary',
    values: { node: '10.0.0.7', value: '93' },
  });
  const raw = 'Node {{ $labels.node_ip }} is dead';
  expect(shippedText('NodeDead', 'summary', raw)?.values).toEqual({ node: '{{ $labels.node_ip }}' });
  const description = enShipped.shipped.RecordNotWritten.description;
  expect(shippedText('RecordNotWritten', 'description', description)?.values).toEqual({});
});

it('leaves what somebody else wrote', () => {
  expect(shippedText('NodeDead', 'summary', 'Node 10.0.0.7 is dead: call Ann')).toBeNull();
  expect(shippedText('NodeDead', 'runbook', 'https://wiki/dead')).toBeNull();
  expect(shippedText('QueueLong', 'summary', 'Node 10.0.0.7 is dead')).toBeNull();
});
