import { IconAdjustmentsHorizontal } from '@tabler/icons-react';
import { total } from '../../base/progress';
import type { PageLinks } from '../../shell/pages';

export const links: PageLinks = {
  tune: {
    icon: IconAdjustmentsHorizontal,
    docs: 'reference/libraries.md#ray-tune',
    number: ({ cluster }) => total(cluster?.libraries.tune),
  },
};
