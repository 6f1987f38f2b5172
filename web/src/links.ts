import type { PageLinks, Pages } from './shell/pages';

const FOUND = import.meta.glob<PageLinks>('./{pages,views}/*/links.ts', { eager: true, import: 'links' });

export const LINKS = Object.assign({}, ...Object.values(FOUND)) as Pages['links'];
