import { IconBriefcase, IconCpu, IconPuzzle, IconUser } from '@tabler/icons-react';
import { total } from '../../base/progress';
import type { PageLinks } from '../../shell/pages';

export const links: PageLinks = {
  actors: { icon: IconUser, docs: 'reference/ui.md', number: ({ cluster }) => total(cluster?.actors) },
  workers: { icon: IconCpu, docs: 'reference/ui.md', number: ({ cluster }) => total(cluster?.workers) },
  jobs: { icon: IconBriefcase, docs: 'reference/jobs.md', number: ({ cluster }) => total(cluster?.jobs) },
  'placement-groups': {
    icon: IconPuzzle,
    docs: 'reference/ui.md',
    number: ({ cluster }) => total(cluster?.placement_groups),
  },
};
