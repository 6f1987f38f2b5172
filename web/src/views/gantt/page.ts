import type { PageCode } from '../../shell/pages';

export const page: PageCode = { gantt: { load: () => import('./GanttView') } };
