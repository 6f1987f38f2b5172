import type { PausedTask } from '../../api/schema';
import type { Filters } from '../../base/url';

/** Whether filters certainly select a paused task. About some of them, nothing is known of it. */
export const isSelected = (task: PausedTask, filters: Filters): boolean =>
  Object.entries(filters).every(([name, value]) => task[name as keyof PausedTask] === value);
