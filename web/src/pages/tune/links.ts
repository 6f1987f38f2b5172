import { IconAdjustmentsHorizontal } from '@tabler/icons-react';
import { type PageLinks, sum } from '../../shell/pages';

export const links: PageLinks = {
  tune: {
    icon: IconAdjustmentsHorizontal,
    docs: 'reference/libraries.md#ray-tune',
    number: ({ cluster }) => sum(cluster?.libraries.tune),
  },
};
