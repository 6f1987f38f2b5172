import type { Summary } from '../api/types';

export function FlameView(_: { summary: Summary | undefined }) {
  return null;
}
