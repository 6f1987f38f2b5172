import { IconSchool } from '@tabler/icons-react';
import { type PageLinks, sum } from '../../shell/pages';

export const links: PageLinks = {
  train: {
    icon: IconSchool,
    docs: 'reference/libraries.md#ray-train',
    number: ({ cluster }) => sum(cluster?.libraries.train),
  },
};
