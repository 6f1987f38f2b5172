import { screen } from '@testing-library/react';
import { expect, it } from 'vitest';
import { render } from '../../testing/render';
import { AlertProfile } from './AlertProfile';

it('links to the profile that the alert took', async () => {
  await render(<AlertProfile profile={{ profile_id: 'p1', problem: null }} />);
  expect((await screen.findByRole('link')).getAttribute('href')).toMatch(/\/alerts\?profile=p1$/);
});

it('says why there is no profile', async () => {
  const problem = {
    code: 'profile_pause',
    message: 'Alerts profile a session at most once in 10 minutes.',
    remedy: 'See the profile of the alert before it, or take one by hand.',
  };
  await render(<AlertProfile profile={{ profile_id: null, problem }} />);
  const line = await screen.findByTestId('alert-profile');
  expect(line.textContent).toContain('No profile: Alerts profile a session at most once in 10 minutes.');
});
