import { screen } from '@testing-library/react';
import { expect, it } from 'vitest';
import { render } from '../testing/render';
import { NodeLabel, NodeLink } from './NodeLabel';

const node = (letter: string, hostname: string) => ({
  node_id: letter.repeat(56),
  hostname,
  node_ip: '10.0.0.1',
});
const NODES = { items: [node('a', 'vm'), node('b', 'vm'), node('c', 'gpu')], next: null, total: 3 };

it('tells nodes of one host apart', async () => {
  await render(
    <>
      <NodeLink id={'a'.repeat(56)} />
      <NodeLabel id={'b'.repeat(56)} />
      <NodeLabel id={'c'.repeat(56)} />
    </>,
    { answers: { '/nodes': NODES } },
  );
  expect(await screen.findByText('vm · aaaaaa')).toBeTruthy();
  expect(screen.getByText('vm · bbbbbb')).toBeTruthy();
  expect(screen.getByText('gpu')).toBeTruthy();
});
