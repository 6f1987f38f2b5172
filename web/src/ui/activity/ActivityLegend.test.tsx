import { expect, it } from 'vitest';
import { render } from '../../testing/render';
import { ActivityLegend } from './ActivityLegend';
import type { Activity } from './activity';

it('has the scale of each half, and the numbers of a bucket', async () => {
  const activity = { in_flight: [2500, 9.96, 0], running: [4, 1.24, 0], failed: [0, 3, 0] } as Activity;
  const { rerender } = await render(<ActivityLegend activity={activity} bucket={null} failures />);
  expect(document.body.textContent).toContain('In flight: avg 0–2,500Running: avg 0–4Failed');
  rerender(<ActivityLegend activity={activity} bucket={1} failures />);
  expect(document.body.textContent).toContain('In flight: avg 10 (0–2,500)Running: avg 1.2 (0–4)Failed: 3');
});
