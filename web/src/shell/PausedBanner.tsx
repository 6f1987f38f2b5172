import { IconBug } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { useTopic } from '../api/realtime';
import type { PausedTasks } from '../api/schema';
import { count } from '../base/format';
import { toView } from '../base/url';
import { Link } from '../ui/Link';
import { useSessionUrl } from '../ui/useUrl';
import { Banner } from './Banner';
import css from './Banners.module.css';

const MAX_NAMES = 3;

/** Says on the views of the execution which tasks wait for a debugger: their time passes without progress. */
export function PausedBanner() {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  const paused = useTopic<PausedTasks>('debugger', { session: url.session })?.items ?? [];
  const tasks = paused.filter(({ state }) => state !== 'gone');
  if (tasks.length === 0) return null;
  const names = [...new Set(tasks.map((task) => task.name ?? task.function))].filter((name) => name !== null);
  const shown = names.slice(0, MAX_NAMES).join(', ') + (names.length > MAX_NAMES ? ', …' : '');
  return (
    <div className={css.banners}>
      <Banner testId="banner-paused" tone="waiting" icon={<IconBug size={16} />}>
        {t('banner.paused', { n: count(tasks.length) })} {shown}{' '}
        <Link to={toView(url, 'debugger')}>{t('nav.debugger')}</Link>
      </Banner>
    </div>
  );
}
