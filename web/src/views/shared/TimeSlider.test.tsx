import { fireEvent, screen } from '@testing-library/react';
import { beforeEach, expect, it, vi } from 'vitest';
import { click, pass, press, render } from '../../testing/render';
import type { Activity } from '../../ui/activity/activity';
import { TimeSlider } from './TimeSlider';

/** 100 buckets of one second. */
const BEGIN = 1_767_225_600_000_000_000;
const SECOND = 1_000_000_000;
const ACTIVITY = {
  session: 'session_1',
  begin_ns: BEGIN,
  end_ns: BEGIN + 100 * SECOND,
  bucket_ns: SECOND,
  in_flight: Array.from({ length: 100 }, () => 2),
  running: Array.from({ length: 100 }, () => 1),
} as unknown as Activity;

const onAt = vi.fn();
beforeEach(() => onAt.mockReset());
const slider = (at: number, activity: Activity | undefined = ACTIVITY) => (
  <TimeSlider activity={activity} at={at} follows={false} live={true} onAt={onAt} />
);
/** The requested time of the last call, in seconds after the begin. */
const requestedSecond = () => ((onAt.mock.lastCall?.[0] as number) - BEGIN) / SECOND;

it.each([
  ['{ArrowRight}', 41.5],
  ['{ArrowLeft}', 39.5],
  ['{PageUp}', 60.5],
  ['{PageDown}', 20.5],
  ['{Home}', 0.5],
  ['{End}', 99.5],
])('moves by keys: %s', async (key, second) => {
  await render(slider(BEGIN + 40.2 * SECOND));
  screen.getByRole('slider').focus();
  await press(key);
  expect(requestedSecond()).toBeCloseTo(second, 3);
});

it('follows the pointer at a limited rate, and stops at the ends', async () => {
  await render(slider(BEGIN));
  vi.useFakeTimers();
  const track = screen.getByRole('slider');
  track.getBoundingClientRect = () => ({ left: 100, width: 200 }) as DOMRect;
  track.setPointerCapture = () => undefined;
  track.hasPointerCapture = () => true;
  fireEvent.pointerDown(track, { button: 0, clientX: 150 });
  fireEvent.pointerMove(track, { clientX: 200 });
  await pass(149);
  expect(onAt).not.toHaveBeenCalled();
  await pass(1);
  expect(onAt).toHaveBeenCalledTimes(1);
  expect(requestedSecond()).toBeCloseTo(50, 3);
  fireEvent.pointerMove(track, { clientX: 220 });
  fireEvent.pointerUp(track, { clientX: 250 });
  await pass(1000);
  expect(onAt).toHaveBeenCalledTimes(2);
  expect(requestedSecond()).toBeCloseTo(75, 3);
  fireEvent.pointerDown(track, { button: 0, clientX: 290 });
  fireEvent.pointerUp(track, { clientX: 900 });
  expect(requestedSecond()).toBeLessThan(100);
  expect(requestedSecond()).toBeCloseTo(100, 3);
});

it('shows what ran then, has no step beyond the ends, and returns to now', async () => {
  await render(slider(BEGIN + 99.5 * SECOND));
  expect(screen.getByTestId('stack-time').textContent).toContain(
    'In flight: avg 2 (0–2)Running: avg 1 (0–1)',
  );
  expect(screen.getByTestId<HTMLButtonElement>('stack-after').disabled).toBe(true);
  expect(screen.getByTestId<HTMLButtonElement>('stack-before').disabled).toBe(false);
  await click(screen.getByTestId('stack-now'));
  expect(onAt).toHaveBeenLastCalledWith(undefined);
});

it('requests nothing before it knows the begin and the end', async () => {
  await render(<TimeSlider activity={undefined} at={null} follows live onAt={onAt} />);
  screen.getByRole('slider').focus();
  await press('{ArrowLeft}{Home}');
  fireEvent.pointerUp(screen.getByRole('slider'), { clientX: 50 });
  expect(onAt).not.toHaveBeenCalled();
});
