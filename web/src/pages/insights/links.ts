import { IconStethoscope } from '@tabler/icons-react';
import type { PageLinks } from '../../shell/pages';

export const links: PageLinks = { insights: { icon: IconStethoscope, docs: 'how-to/diagnose.md' } };
