import { IconHistory } from '@tabler/icons-react';
import type { PageLinks } from '../../shell/pages';

export const links: PageLinks = { events: { icon: IconHistory, docs: 'reference/jobs.md' } };
