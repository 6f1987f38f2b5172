import { IconFileText } from '@tabler/icons-react';
import type { PageLinks } from '../../shell/pages';

export const links: PageLinks = { logs: { icon: IconFileText, docs: 'reference/logs.md' } };
