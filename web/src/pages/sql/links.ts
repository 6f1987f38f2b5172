import { IconSql } from '@tabler/icons-react';
import type { PageLinks } from '../../shell/pages';

export const links: PageLinks = { sql: { icon: IconSql, docs: 'reference/sql.md' } };
