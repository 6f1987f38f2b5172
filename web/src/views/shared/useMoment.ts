import { useCallback } from 'react';
import { rangeIn, type SettingName, withSettings } from '../../base/url';
import { useSessionUrl } from '../../ui/useUrl';

/**
 * For views of a single time: the URL, the time that it names (`at`, or the end of its range, ns; otherwise
 * now or the last), and a function that sets it.
 */
export function useMoment() {
  const [url, change] = useSessionUrl();
  const settings = url.settings ?? {};
  const named = settings.at ?? rangeIn(url.filters)?.to;
  const at = named !== undefined && /^\d{1,19}$/.test(named) ? named : undefined;
  const set = useCallback(
    (changed: Partial<Record<SettingName, string | undefined>>) =>
      change((before) => withSettings(before, changed), { replace: true }),
    [change],
  );
  return { url, settings, at, set };
}
