import { prefetch } from '../../api/prefetch';
import type { PageCode } from '../../shell/pages';

export const page: PageCode = {
  overview: { load: () => import('./OverviewPage'), prefetch: () => prefetch('/metrics/charts') },
};
