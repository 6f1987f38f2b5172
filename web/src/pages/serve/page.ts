import type { PageCode } from '../../shell/pages';

export const page: PageCode = { serve: { load: () => import('./ServePage') } };
