import type { TFunction } from 'i18next';
import { useTranslation } from 'react-i18next';
import { shippedText } from './shipped';

/** The annotations of a rule or its alert: of one that ships in the reader's language, of others as written. */
export function useAnnotations(): (rule: string, of: Record<string, string>) => Record<string, string> {
  const { t } = useTranslation();
  const say = t as TFunction<'translation', undefined> as (key: string, values: object) => string;
  return (rule, of) =>
    Object.fromEntries(
      Object.entries(of).map(([name, text]) => {
        const shipped = shippedText(rule, name, text);
        return [name, shipped === null ? text : say(shipped.key, shipped.values)];
      }),
    );
}
