import { screen } from '@testing-library/react';
import { expect, it } from 'vitest';
import { render } from '../testing/render';
import { LibraryProblem } from './LibraryProblem';

const problem = { code: 'train_v1', message: 'This session ran Ray Train V1.', remedy: 'Use V2.' };

it("shows the server's message, and its translation in Chinese", async () => {
  const { unmount } = await render(<LibraryProblem problem={problem} />);
  expect(screen.getByTestId('library-problem').textContent).toContain(
    'This session ran Ray Train V1. Use V2.',
  );
  unmount();
  await render(<LibraryProblem problem={problem} />, { language: 'zh' });
  expect(screen.getByTestId('library-problem').textContent).toContain('此会话使用了 Ray Train V1');
});
