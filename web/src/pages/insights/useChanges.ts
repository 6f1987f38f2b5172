import type { TFunction } from 'i18next';
import { useCallback, useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { Change } from '../../api/insights';
import { withSettings } from '../../base/url';
import { useSessionUrl } from '../../ui/useUrl';
import { formatChanges, parseChanges, partsOfChange } from './changes';

/** The changes that the URL contains, and a function that updates them. */
export function useChanges(): readonly [Change[], (next: (before: Change[]) => Change[]) => void] {
  const [url, change] = useSessionUrl();
  const text = url.settings?.changes;
  const changes = useMemo(() => parseChanges(text), [text]);
  const set = useCallback(
    (next: (before: Change[]) => Change[]) =>
      change(
        (before) => {
          const changed = next(parseChanges(before.settings?.changes));
          return withSettings(before, { changes: formatChanges(changed) || undefined });
        },
        { replace: true },
      ),
    [change],
  );
  return [changes, set];
}

/** A short description of a change. */
export function useChangeText(): (change: Change) => string {
  const { t } = useTranslation();
  const translate = t as TFunction<'translation', undefined> as (key: string, values?: object) => string;
  return (change) => {
    const { name, amount } = partsOfChange(change);
    return change.kind.startsWith('no_')
      ? translate(`insights.option.${change.kind}`)
      : translate(`insights.whatif.change.${change.kind}`, { name, n: amount });
  };
}
