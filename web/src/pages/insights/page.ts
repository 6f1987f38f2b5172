import type { PageCode } from '../../shell/pages';

export const page: PageCode = { insights: { load: () => import('./InsightsPage') } };
