import { screen, waitFor } from '@testing-library/react';
import { useState } from 'react';
import { expect, it } from 'vitest';
import { click, press, render } from '../testing/render';
import { Dialog } from './Dialog';

function Opener() {
  const [isOpen, setOpen] = useState(false);
  const [isGone, setGone] = useState(false);
  return (
    <main id="main" tabIndex={-1}>
      {!isGone && (
        <button type="button" onClick={() => setOpen(true)}>
          Open
        </button>
      )}
      {isOpen && (
        <Dialog title="Question" onClose={() => setOpen(false)}>
          <button type="button" onClick={() => setGone(true)}>
            Remove
          </button>
        </Dialog>
      )}
    </main>
  );
}

it('gives the focus back to the control that opened it, or to the page', async () => {
  await render(<Opener />);
  await click(screen.getByRole('button', { name: 'Open' }));
  await press('{Escape}');
  await waitFor(() => expect(document.activeElement).toBe(screen.getByRole('button', { name: 'Open' })));
  await press('{Enter}');
  await click(screen.getByRole('button', { name: 'Remove' }));
  await press('{Escape}');
  await waitFor(() => expect(document.activeElement).toBe(screen.getByRole('main')));
});
