import { Component, type ReactNode, Suspense } from 'react';
import { useTranslation } from 'react-i18next';
import { ErrorPanel } from './ErrorPanel';

interface Props {
  /** Shown while the code of the page is loading. */
  loading?: ReactNode;
  children: ReactNode;
}

/** Catches the failure of a page to load or render, so that the other pages stay usable. */
export class PageBoundary extends Component<Props, { error: Error | null }> {
  override state: { error: Error | null } = { error: null };

  static getDerivedStateFromError(error: unknown) {
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }

  override render() {
    if (this.state.error !== null) return <Failed error={this.state.error} />;
    return <Suspense fallback={this.props.loading}>{this.props.children}</Suspense>;
  }
}

/** Browsers' error messages for a script that could not be loaded. */
const NOT_LOADED = /dynamically imported module|importing a module script|unable to preload css/i;

function Failed({ error }: { error: Error }) {
  const { t } = useTranslation();
  return (
    <ErrorPanel
      error={error}
      title={t('error.page')}
      message={NOT_LOADED.test(error.message) ? t('error.pageParts') : error.message}
      remedy={t('error.pageRemedy')}
      onRetry={() => window.location.reload()}
    />
  );
}
