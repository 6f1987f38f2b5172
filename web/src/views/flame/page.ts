import type { PageCode } from '../../shell/pages';

export const page: PageCode = { flame: { load: () => import('./FlameView') } };
