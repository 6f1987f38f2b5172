import { IconListDetails } from '@tabler/icons-react';
import type { PageLinks } from '../../shell/pages';

export const links: PageLinks = {
  tasks: { icon: IconListDetails, docs: 'reference/ui.md', number: ({ cluster }) => cluster?.attempts },
};
