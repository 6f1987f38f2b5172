import { IconBriefcase, IconCpu, IconPuzzle, IconUser } from '@tabler/icons-react';
import { type PageLinks, sum } from '../../shell/pages';

export const links: PageLinks = {
  actors: {
    icon: IconUser,
    docs: 'reference/ui.md',
    number: ({ cluster }) => sum(cluster?.actors),
  },
  workers: {
    icon: IconCpu,
    docs: 'reference/ui.md',
    number: ({ cluster }) => sum(cluster?.workers),
  },
  jobs: {
    icon: IconBriefcase,
    docs: 'reference/jobs.md',
    number: ({ cluster }) => sum(cluster?.jobs),
  },
  'placement-groups': {
    icon: IconPuzzle,
    docs: 'reference/ui.md',
    number: ({ cluster }) => sum(cluster?.placement_groups),
  },
};
