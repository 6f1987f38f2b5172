import { IconFunction } from '@tabler/icons-react';
import type { PageLinks } from '../../shell/pages';

export const links: PageLinks = { functions: { icon: IconFunction, docs: 'reference/ui.md' } };
