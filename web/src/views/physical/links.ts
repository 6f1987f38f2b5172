import { IconMap2 } from '@tabler/icons-react';
import type { PageLinks } from '../../shell/pages';

export const links: PageLinks = { physical: { icon: IconMap2, docs: 'reference/ui.md#physical-view' } };
