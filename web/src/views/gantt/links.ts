import { IconChartBar } from '@tabler/icons-react';
import type { PageLinks } from '../../shell/pages';

export const links: PageLinks = { gantt: { icon: IconChartBar, docs: 'reference/ui.md#gantt' } };
