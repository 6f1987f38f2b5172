import type { PageCode } from '../../shell/pages';

export const page: PageCode = { nodes: { load: () => import('./NodesPage') } };
