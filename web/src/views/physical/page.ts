import type { PageCode } from '../../shell/pages';

export const page: PageCode = { physical: { load: () => import('./PhysicalView') } };
