import { useCallback } from 'react';
import { rangeIn, type SettingName, withSettings } from '../../base/url';
import { useSessionUrl } from '../../ui/useUrl';

/** Of views of one time: the URL, the time it names (`at`, else the end of its range, ns; none: now or the last), and how to set it. */
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
