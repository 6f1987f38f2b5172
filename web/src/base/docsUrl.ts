import { ROOT } from './root';

/**
 * The address of a page of the bundled documentation. The server returns the page in this language if it has a
 * translation, otherwise in English.
 */
export function docsUrl(path: string, language: string): string {
  if (language === 'en') return `${ROOT}/docs/${path}`;
  const [page, anchor] = path.split('#');
  return `${ROOT}/docs/${page}?lang=${language}${anchor === undefined ? '' : `#${anchor}`}`;
}
