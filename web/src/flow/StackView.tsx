import type { Summary } from '../api/types';

export function StackView(_: { summary: Summary | undefined }) {
  return null;
}
