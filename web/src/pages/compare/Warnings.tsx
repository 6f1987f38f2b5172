import { useTranslation } from 'react-i18next';
import type { Warned } from '../../api/schema';
import { useItemStateName } from '../../ui/useStateName';
import css from './ComparePage.module.css';

/** Reasons why the sides may not be comparable. */
export function Warnings({ warnings }: { warnings: readonly Warned[] }) {
  const { t } = useTranslation();
  const text = useWarning();
  return (
    <section className={css.warnings} role="note" data-testid="compare-warnings">
      <h2>{t('compare.warnings')}</h2>
      <ul>
        {warnings.map((warned) => (
          <li key={warned.code}>{text(warned)}</li>
        ))}
      </ul>
    </section>
  );
}

/** A warning with what is recorded about each side. */
function useWarning(): (warned: Warned) => string {
  const { t, i18n } = useTranslation();
  const stateName = useItemStateName('jobs');
  const value = (code: string, text: string) => {
    if (i18n.exists(`compare.value.${text}`)) return t(`compare.value.${text}` as 'compare.value.on');
    if (code === 'recording' && i18n.exists(`sessions.recording.${text}`))
      return t(`sessions.recording.${text}` as 'sessions.recording.events');
    return code === 'outcome' ? stateName(text) : text;
  };
  return ({ code, a, b }) => {
    const side = (values: string[]) =>
      values.map((text) => value(code, text)).join(', ') || t('compare.notRecorded');
    const text = i18n.exists(`compare.warning.${code}`)
      ? t(`compare.warning.${code}` as 'compare.warning.nodes')
      : code;
    return side(a) === side(b)
      ? t('compare.both', { text, both: side(a) })
      : t('compare.sides', { text, a: side(a), b: side(b) });
  };
}
