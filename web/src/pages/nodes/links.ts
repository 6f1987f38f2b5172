import { IconServer2 } from '@tabler/icons-react';
import { total } from '../../base/progress';
import type { PageLinks } from '../../shell/pages';

export const links: PageLinks = {
  nodes: { icon: IconServer2, docs: 'reference/nodes.md', number: ({ cluster }) => total(cluster?.nodes) },
};
