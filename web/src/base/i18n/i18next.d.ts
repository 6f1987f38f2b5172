import 'i18next';
import type { English } from './texts';

declare module 'i18next' {
  interface CustomTypeOptions {
    resources: { translation: English };
    returnNull: false;
  }
}
