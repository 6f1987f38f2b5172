import { useCallback, useMemo, useState } from 'react';
import { withSettings } from '../../base/url';
import { useSessionUrl } from '../../ui/useUrl';

/** Which lanes are unfolded, and which are pinned (`pin` in the URL). */
export interface GanttFolding {
  unfolded: ReadonlySet<string>;
  pins: readonly string[];
  toggle: (key: string) => void;
  unfold: (key: string) => void;
  togglePin: (id: string) => void;
}

export function useGanttFolding(): GanttFolding {
  const [url, change] = useSessionUrl();
  const [unfolded, setUnfolded] = useState<ReadonlySet<string>>(new Set());
  const pin = url.settings?.pin;
  const pins = useMemo(() => pin?.split(',') ?? [], [pin]);
  const toggle = useCallback(
    (key: string) =>
      setUnfolded((before) => {
        const after = new Set(before);
        if (!after.delete(key)) after.add(key);
        return after;
      }),
    [],
  );
  const unfold = useCallback((key: string) => setUnfolded((before) => new Set(before).add(key)), []);
  const togglePin = useCallback(
    (id: string) =>
      change((before) => {
        const now = before.settings?.pin?.split(',') ?? [];
        const next = now.includes(id) ? now.filter((one) => one !== id) : [...now, id];
        return withSettings(before, { pin: next.join(',') || undefined });
      }),
    [change],
  );
  return useMemo(
    () => ({ unfolded, pins, toggle, unfold, togglePin }),
    [unfolded, pins, toggle, unfold, togglePin],
  );
}
