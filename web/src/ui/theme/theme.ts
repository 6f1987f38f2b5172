import { type CSSVariablesResolver, createTheme } from '@mantine/core';
import { cssVariables, darkShades, fonts, sizes } from '../../base/tokens';

export const theme = createTheme({
  fontFamily: fonts.text,
  fontFamilyMonospace: fonts.mono,
  colors: { dark: darkShades },
  primaryColor: 'blue',
  primaryShade: { light: 8, dark: 8 },
  defaultRadius: 'sm',
  cursorType: 'pointer',
  fontSizes: { xs: '0.75rem', sm: '0.8125rem', md: '0.875rem', lg: '1rem', xl: '1.25rem' },
  headings: { fontWeight: '600', sizes: { h1: { fontSize: '1.25rem' }, h2: { fontSize: '1rem' } } },
  components: {
    Tooltip: { defaultProps: { openDelay: 350, withArrow: true, maw: 480, multiline: true, fz: 'xs' } },
    SegmentedControl: { defaultProps: { withItemsBorders: false } },
    Menu: {
      // The placeholder may not be a child of a menu.
      defaultProps: { withInitialFocusPlaceholder: false },
      // The focused item, on which a hint must be readable.
      styles: { dropdown: { '--mantine-color-dark-4': 'var(--rs-hover)' } },
    },
    Modal: { styles: { title: { fontSize: '1rem', fontWeight: 600, overflowWrap: 'anywhere' } } },
    ActionIcon: { defaultProps: { variant: 'subtle', color: 'gray' } },
    // Only an element with a role may have a label.
    Loader: { defaultProps: { role: 'status' } },
  },
});

/** Our colours, and Mantine's colours that must be readable on our surfaces. */
function scheme(name: 'light' | 'dark'): Record<string, string> {
  return {
    ...cssVariables(name),
    '--mantine-color-body': 'var(--rs-page)',
    '--mantine-color-dimmed': 'var(--rs-muted)',
    '--mantine-color-placeholder': 'var(--rs-muted)',
    '--mantine-color-error': 'var(--rs-tone-bad)',
    '--rs-edge': `rgb(0 0 0 / ${name === 'dark' ? 60 : 14}%)`, // a shadow
  };
}

export const cssVariablesResolver: CSSVariablesResolver = () => ({
  variables: {
    '--rs-table-head-height': `${sizes.tableHeadHeight}px`,
    '--rs-table-padding': `${sizes.tablePadding}px`,
    '--rs-drawer-width': `${sizes.drawer}px`,
    '--rs-header-height': `${sizes.header}px`,
    '--rs-nav-width': `${sizes.nav}px`,
    '--rs-nav-width-narrow': `${sizes.navNarrow}px`,
  },
  light: scheme('light'),
  dark: scheme('dark'),
});
