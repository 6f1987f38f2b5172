import { IconRoute } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import type { Tracing } from '../api/schema';
import { count } from '../base/format';
import { isFlow } from '../base/url';
import words from '../ui/theme/words.module.css';
import { useSessionUrl } from '../ui/useUrl';
import { Banner } from './Banner';
import css from './shell.module.css';

/** Processes whose objects and waits are not recorded, what the view lacks therefore, and why. */
export function TracingBanner({ tracing, events }: { tracing: Tracing; events: boolean }) {
  const { t } = useTranslation();
  const [url] = useSessionUrl();
  const all = tracing.traced + tracing.untraced;
  if (!events || (tracing.untraced === 0 && tracing.said.length === 0)) return null;
  return (
    <Banner
      testId="banner-tracing"
      tone="quiet"
      mild
      icon={<IconRoute size={16} />}
      details={
        <ul className={css.plainList}>
          {tracing.untraced > 0 && <li>{t('banner.untracedWhy')}</li>}
          {tracing.said.map((said) => (
            <li key={said.text} className={words.breaks}>
              {said.text} ({count(said.workers)})
            </li>
          ))}
        </ul>
      }
    >
      {tracing.untraced === 0
        ? t('banner.tracerSaid')
        : tracing.traced === 0
          ? t(isFlow(url.view) ? `banner.untracedIn.${url.view}` : 'banner.untracedAll')
          : t('banner.untraced', { n: count(tracing.untraced), all: count(all) })}
    </Banner>
  );
}
