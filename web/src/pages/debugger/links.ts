import { IconBug } from '@tabler/icons-react';
import type { PageLinks } from '../../shell/pages';

export const links: PageLinks = {
  debugger: {
    icon: IconBug,
    docs: 'how-to/debug.md',
    number: ({ paused }) => paused?.items.filter(({ state }) => state !== 'gone').length || undefined,
    tone: () => 'waiting',
  },
};
