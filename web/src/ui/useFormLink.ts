import { useEffect } from 'react';
import { withSettings } from '../base/url';
import { useSessionUrl } from './useUrl';

/** Opens the form of a page if the link asks for it and the page `has` it. That is undefined while unknown. */
export function useFormLink(has: boolean | undefined, open: () => void): void {
  const [url, change] = useSessionUrl();
  const isAsked = has !== undefined && url.settings?.form !== undefined;
  // biome-ignore lint/correctness/useExhaustiveDependencies: a link opens the form once.
  useEffect(() => {
    if (!isAsked) return;
    change((before) => withSettings(before, { form: undefined }), { replace: true });
    if (has) open();
  }, [isAsked]);
}
