import { IconAlertOctagon } from '@tabler/icons-react';
import { failedOf } from '../../base/progress';
import type { PageLinks } from '../../shell/pages';

export const links: PageLinks = {
  failures: {
    icon: IconAlertOctagon,
    docs: 'reference/ui.md',
    number: ({ cluster }) => cluster && failedOf(cluster.states, cluster.stopped_by_libraries),
    tone: () => 'bad',
  },
};
