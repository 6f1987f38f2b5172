import { Switch } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { count } from '../../base/format';
import { onlyMineOf, withSettings } from '../../base/url';
import { useSessionUrl } from '../useUrl';

/** A switch that folds or hides code that is not the user's. */
export function OnlyMineSwitch() {
  const [url, change] = useSessionUrl();
  const { t } = useTranslation();
  return (
    <Switch
      size="xs"
      label={t('origin.onlyMine')}
      title={t('origin.onlyMineHint')}
      checked={onlyMineOf(url) !== undefined}
      onChange={(event) => {
        const only = event.currentTarget.checked ? 'mine' : 'all';
        // The same frame may not exist in the other flame graph.
        change((before) => withSettings(before, { only, frame: undefined }));
      }}
      data-testid="only-mine"
    />
  );
}

/**
 * Describes, for each library, how many functions are folded or, with `attempts`, how many functions and
 * attempts are hidden.
 */
export function useLibraryTexts(): (
  libraries: readonly { library: string; functions: number; attempts?: number }[],
) => string {
  const { t } = useTranslation();
  return (libraries) =>
    libraries
      .map(({ library, functions, attempts }) =>
        attempts === undefined
          ? t('origin.folded', { library, n: count(functions) })
          : t('origin.hidden', { library, n: count(functions), attempts: count(attempts) }),
      )
      .join(' · ');
}
