import { useCallback } from 'react';
import { useTranslation } from 'react-i18next';

/** What a field is called: in our words, or else in Ray's. */
export function useFieldName(): (field: string) => string {
  const { t, i18n } = useTranslation();
  return useCallback(
    (field: string) =>
      i18n.exists(`field.${field}`) ? t(`field.${field}` as 'field.state') : rayName(field),
    [t, i18n],
  );
}

/** A field that we have no words for, by Ray's. */
function rayName(field: string): string {
  const words = field.replace(/_ns$/, '').replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}
