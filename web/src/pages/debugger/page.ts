import type { PageCode } from '../../shell/pages';

export const page: PageCode = { debugger: { load: () => import('./DebuggerPage') } };
