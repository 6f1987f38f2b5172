import { screen } from '@testing-library/react';
import { expect, it, vi } from 'vitest';
import { render } from '../testing/render';
import { PageBoundary } from './PageBoundary';

function Page({ error }: { error: string }): never {
  throw new Error(error);
}

it('explains a script that could not be loaded', async () => {
  vi.spyOn(console, 'error').mockReturnValue();
  const address = 'http://127.0.0.1:8700/assets/JobsPage-C0kd6In9.js';
  await render(
    <PageBoundary>
      <Page error={`Failed to fetch dynamically imported module: ${address}`} />
    </PageBoundary>,
  );
  const text = screen.getByTestId('error-panel').textContent;
  expect(text).toContain('Part of the page could not be loaded from the server.');
  expect(text).not.toContain('JobsPage');
});
