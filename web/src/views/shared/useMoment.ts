import { useCallback } from 'react';
import { momentNear } from '../../base/report';
import { rangeIn, type SettingName, withSettings } from '../../base/url';
import { useSessionUrl } from '../../ui/useUrl';

/**
 * For views of a single moment: the URL, the moment in it and a function that sets it. The moment is `at` or
 * the end of the range, in ns; undefined means now, or the default of an ended session.
 */
export function useMoment() {
  const [url, change] = useSessionUrl();
  const settings = url.settings ?? {};
  const named = settings.at ?? rangeIn(url.filters)?.to;
  const at = momentNear(named !== undefined && /^\d{1,19}$/.test(named) ? named : undefined);
  const set = useCallback(
    (changed: Partial<Record<SettingName, string | undefined>>) =>
      change((before) => withSettings(before, changed), { replace: true }),
    [change],
  );
  return { url, settings, at, set };
}
