import { prefetch } from '../../api/prefetch';
import type { PageCode } from '../../shell/pages';

export const page: PageCode = {
  metrics: { load: () => import('./MetricsPage'), prefetch: () => prefetch('/metrics/charts') },
};
