import type { PageCode } from '../../shell/pages';

export const page: PageCode = { train: { load: () => import('./TrainPage') } };
