import { IconServer2 } from '@tabler/icons-react';
import { type PageLinks, sum } from '../../shell/pages';

export const links: PageLinks = {
  nodes: {
    icon: IconServer2,
    docs: 'reference/nodes.md',
    number: ({ cluster }) => sum(cluster?.nodes),
  },
};
