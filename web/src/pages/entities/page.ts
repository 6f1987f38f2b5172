import type { PageCode } from '../../shell/pages';

export const page: PageCode = {
  actors: { load: () => import('./EntityDetails').then(({ ActorsPage }) => ({ default: ActorsPage })) },
  workers: { load: () => import('./WorkersPage') },
  jobs: { load: () => import('./JobsPage') },
  'placement-groups': {
    load: () =>
      import('./EntityDetails').then(({ PlacementGroupsPage }) => ({ default: PlacementGroupsPage })),
  },
};
