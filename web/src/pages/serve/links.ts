import { IconCloudComputing } from '@tabler/icons-react';
import { total } from '../../base/progress';
import type { PageLinks } from '../../shell/pages';

export const links: PageLinks = {
  serve: {
    icon: IconCloudComputing,
    docs: 'reference/libraries.md#ray-serve',
    number: ({ cluster }) => total(cluster?.libraries.serve),
  },
};
