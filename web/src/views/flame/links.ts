import { IconFlame } from '@tabler/icons-react';
import type { PageLinks } from '../../shell/pages';

export const links: PageLinks = { flame: { icon: IconFlame, docs: 'reference/ui.md#flame-graph' } };
