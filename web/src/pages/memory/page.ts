import type { PageCode } from '../../shell/pages';

export const page: PageCode = { memory: { load: () => import('./MemoryPage') } };
