import { IconGauge } from '@tabler/icons-react';
import type { PageLinks } from '../../shell/pages';

export const links: PageLinks = { overview: { icon: IconGauge, docs: 'reference/metrics-page.md' } };
