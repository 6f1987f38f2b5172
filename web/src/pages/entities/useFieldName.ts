import { useCallback } from 'react';
import { useTranslation } from 'react-i18next';

/** The label of a field: its translation or, if there is none, a label derived from Ray's name. */
export function useFieldName(): (field: string) => string {
  const { t, i18n } = useTranslation();
  return useCallback(
    (field: string) =>
      i18n.exists(`field.${field}`) ? t(`field.${field}` as 'field.state') : rayName(field),
    [t, i18n],
  );
}

/** Derives a label from Ray's name for a field. */
function rayName(field: string): string {
  const words = field.replace(/_ns$/, '').replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}
