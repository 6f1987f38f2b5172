import { useEffect } from 'react';
import { withSettings } from '../base/url';
import { useSessionUrl } from './useUrl';

/** Opens the form of a page if the link asks for it, as soon as the form `isReady`. */
export function useFormLink(isReady: boolean, open: () => void): void {
  const [url, change] = useSessionUrl();
  const isAsked = isReady && url.settings?.form !== undefined;
  // biome-ignore lint/correctness/useExhaustiveDependencies: a link opens the form once.
  useEffect(() => {
    if (!isAsked) return;
    change((before) => withSettings(before, { form: undefined }), { replace: true });
    open();
  }, [isAsked]);
}
