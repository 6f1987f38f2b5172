import type { PageCode } from '../../shell/pages';

export const page: PageCode = { tasks: { load: () => import('./TasksView') } };
