import { useTranslation } from 'react-i18next';

const ENGLISH = { gap: ' ', comma: ', ', colon: ': ', stop: '. ' };
const CHINESE = { gap: '', comma: '，', colon: '：', stop: '。' };

/** The marks between texts in the user's language. `gap` separates sentences. */
export function usePunctuation(): typeof ENGLISH {
  const { i18n } = useTranslation();
  return i18n.language.startsWith('zh') ? CHINESE : ENGLISH;
}
