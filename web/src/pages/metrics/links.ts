import { IconActivity } from '@tabler/icons-react';
import type { PageLinks } from '../../shell/pages';

export const links: PageLinks = { metrics: { icon: IconActivity, docs: 'reference/metrics-page.md' } };
