import { IconDatabase } from '@tabler/icons-react';
import type { PageLinks } from '../../shell/pages';

export const links: PageLinks = { memory: { icon: IconDatabase, docs: 'reference/memory.md' } };
