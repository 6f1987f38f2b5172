import { IconTableRow } from '@tabler/icons-react';
import { type PageLinks, sum } from '../../shell/pages';

export const links: PageLinks = {
  data: {
    icon: IconTableRow,
    docs: 'reference/libraries.md#ray-data',
    number: ({ cluster }) => sum(cluster?.libraries.data),
  },
};
