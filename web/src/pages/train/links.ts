import { IconSchool } from '@tabler/icons-react';
import { total } from '../../base/progress';
import type { PageLinks } from '../../shell/pages';

export const links: PageLinks = {
  train: {
    icon: IconSchool,
    docs: 'reference/libraries.md#ray-train',
    number: ({ cluster }) => total(cluster?.libraries.train),
  },
};
