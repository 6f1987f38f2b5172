import { IconTableRow } from '@tabler/icons-react';
import { total } from '../../base/progress';
import type { PageLinks } from '../../shell/pages';

export const links: PageLinks = {
  data: {
    icon: IconTableRow,
    docs: 'reference/libraries.md#ray-data',
    number: ({ cluster }) => total(cluster?.libraries.data),
  },
};
