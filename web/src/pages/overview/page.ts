import { prefetch } from '../../api/prefetch';
import type { PageCode } from '../../shell/pages';

export const page: PageCode = {
  overview: {
    load: () => import('./OverviewPage'),
    prefetch: (session) => {
      prefetch('/cluster', { session });
      prefetch('/metrics/charts');
    },
  },
};
