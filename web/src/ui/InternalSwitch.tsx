import { useTranslation } from 'react-i18next';
import { count } from '../base/format';
import words from './theme/words.module.css';
import { useSessionUrl } from './useUrl';

/** Shows or hides Ray's internal entities. The switch is left out if there are none. */
export function InternalSwitch({ hidden }: { hidden: number }) {
  const [url, change] = useSessionUrl();
  const { t } = useTranslation();
  const shows = url.settings?.internal === 'show';
  if (hidden === 0 && !shows) return null;
  const label = shows ? t('internal.hide') : t('internal.show', { n: count(hidden) });
  return (
    <button
      type="button"
      className={words.link}
      data-testid="internal"
      title={t('internal.hint')}
      onClick={() =>
        change((before) => ({
          ...before,
          settings: { ...before.settings, internal: shows ? undefined : 'show' },
        }))
      }
    >
      {label}
    </button>
  );
}
