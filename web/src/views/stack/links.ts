import { IconStack2 } from '@tabler/icons-react';
import type { PageLinks } from '../../shell/pages';

export const links: PageLinks = {
  stack: { icon: IconStack2, docs: 'reference/ui.md#distributed-call-stack' },
};
