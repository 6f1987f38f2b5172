import { screen } from '@testing-library/react';
import { expect, it } from 'vitest';
import type { ClusterEvent } from '../api/jobs';
import { render } from '../testing/render';
import { EventLines, usePlatformEvents } from './EventLines';

const EVICTED: ClusterEvent = {
  time_ns: 2e18,
  severity: 'WARNING',
  kind: 'platform',
  event: 'Evicted',
  id: 'uid',
  title: 'demo-worker',
  message: 'The node was low on memory.',
  node_id: 'n1',
  job_id: null,
  count: 3,
  last_ns: 2e18,
  ended: null,
  causes: [],
};

function Events() {
  return <EventLines events={usePlatformEvents(1e18, null, 'n1')} />;
}

it("lists Kubernetes' events of a node in a time", async () => {
  const { requests } = await render(<Events />, {
    answers: { '/events': { items: [EVICTED], next: null, total: 1 } },
  });
  const text = (await screen.findByRole('listitem')).textContent;
  expect(text).toContain('Pod evicted demo-worker × 3');
  expect(text).toContain('The node was low on memory.');
  const asked = requests.find(({ path }) => path === '/events')?.params;
  expect(asked).toMatchObject({ kind: 'platform', node_id: 'n1', since_ns: `${1e18}` });
  expect(asked?.until_ns).toBeUndefined();
});
