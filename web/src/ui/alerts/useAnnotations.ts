import { useTranslation } from 'react-i18next';

/** In Chinese, `summary_zh` replaces `summary` if a rule has both. */
const IN_CHINESE = /_zh$/;

/** The annotations of a rule or its alert in the user's language. */
export function useAnnotations(): (of: Record<string, string>) => Record<string, string> {
  const { i18n } = useTranslation();
  const isChinese = i18n.language.startsWith('zh');
  return (of) =>
    Object.fromEntries(
      Object.entries(of)
        .filter(([name]) => !IN_CHINESE.test(name))
        .map(([name, text]) => [name, (isChinese && of[`${name}_zh`]) || text]),
    );
}
