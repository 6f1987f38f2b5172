import { useCallback } from 'react';
import { type SettingName, withSettings } from '../../base/url';
import { useSessionUrl } from '../../ui/useUrl';

/** Of views of one time: the URL, the time it names (`at`, ns; none: now or the last), and how to set it. */
export function useMoment() {
  const [url, change] = useSessionUrl();
  const settings = url.settings ?? {};
  const at = settings.at !== undefined && /^\d{1,19}$/.test(settings.at) ? settings.at : undefined;
  const set = useCallback(
    (changed: Partial<Record<SettingName, string | undefined>>) =>
      change((before) => withSettings(before, changed), { replace: true }),
    [change],
  );
  return { url, settings, at, set };
}
