import type { PageCode } from '../../shell/pages';

export const page: PageCode = { events: { load: () => import('./EventsPage') } };
