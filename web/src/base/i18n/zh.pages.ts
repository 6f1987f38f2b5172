import { withPages } from './texts';
import { zhInsights } from './zh.insights';
import { zhSession } from './zh.session';

/** The texts of all pages but the first one. */
export const texts = withPages(
  { ...zhSession, ...zhInsights },
  import.meta.glob(['../../{pages,views}/*/zh.ts', '!../../pages/sessions/zh.ts'], {
    eager: true,
    import: 'zh',
  }),
);
