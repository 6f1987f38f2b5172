import type { PageCode } from '../../shell/pages';

export const page: PageCode = { tune: { load: () => import('./TunePage') } };
