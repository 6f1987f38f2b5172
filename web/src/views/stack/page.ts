import type { PageCode } from '../../shell/pages';

export const page: PageCode = { stack: { load: () => import('./StackView') } };
