import { IconSitemap } from '@tabler/icons-react';
import type { PageLinks } from '../../shell/pages';

export const links: PageLinks = { logical: { icon: IconSitemap, docs: 'reference/ui.md#logical-graph' } };
