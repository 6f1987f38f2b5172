import { IconCloudComputing } from '@tabler/icons-react';
import { type PageLinks, sum } from '../../shell/pages';

export const links: PageLinks = {
  serve: {
    icon: IconCloudComputing,
    docs: 'reference/libraries.md#ray-serve',
    number: ({ cluster }) => sum(cluster?.libraries.serve),
  },
};
