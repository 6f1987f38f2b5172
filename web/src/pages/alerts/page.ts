import type { PageCode } from '../../shell/pages';

export const page: PageCode = { alerts: { load: () => import('./AlertsPage') } };
