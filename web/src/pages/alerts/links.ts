import { IconBell } from '@tabler/icons-react';
import type { PageLinks } from '../../shell/pages';
import { worstTone } from '../../ui/alerts/severity';

export const links: PageLinks = {
  alerts: {
    icon: IconBell,
    docs: 'reference/alerts.md',
    number: ({ alerts }) => alerts && (alerts.firing - alerts.info || undefined),
    tone: ({ alerts }) => worstTone(alerts?.items ?? []),
  },
};
