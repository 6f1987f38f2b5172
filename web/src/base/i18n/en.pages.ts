import { enInsights } from './en.insights';
import { enSession } from './en.session';
import { withPages } from './texts';

/** The texts of all pages but the first one. */
export const texts = withPages(
  { ...enSession, ...enInsights },
  import.meta.glob(['../../{pages,views}/*/en.ts', '!../../pages/sessions/en.ts'], {
    eager: true,
    import: 'en',
  }),
);
