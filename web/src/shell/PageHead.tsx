import { ActionIcon, Anchor, Popover } from '@mantine/core';
import { IconHelpCircle } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { docsUrl } from '../base/docsUrl';
import { REPORT } from '../base/report';
import { placeOf, type SessionUrl, toTab, type View } from '../base/url';
import { Link } from '../ui/Link';
import layout from '../ui/theme/layout.module.css';
import words from '../ui/theme/words.module.css';
import { openViews } from './Nav';
import { NavNumber } from './NavNumber';
import css from './PageHead.module.css';
import { type Topics, usePages } from './pages';

/** The title of a page, the tabs of its place, and what the page is for. */
export function PageHead({ url, topics }: { url: SessionUrl; topics: Topics }) {
  const { t } = useTranslation();
  const { prefetch } = usePages();
  const { view } = url;
  const place = placeOf(view);
  const tabs = openViews(place);
  return (
    <div className={css.head}>
      <h1>
        {t(`nav.${place}`)}
        {tabs.length > 1 && <span className={words.hidden}>: {t(`nav.${view}`)}</span>}
      </h1>
      {tabs.length > 1 && (
        <nav className={layout.tabs} aria-label={t(`nav.${place}`)}>
          {tabs.map((tab) => (
            <div key={tab} onPointerEnter={() => prefetch(tab)}>
              <Link to={toTab(url, tab)} className={layout.tab} current={tab === view} testId={`tab-${tab}`}>
                {t(`nav.${tab}`)}
                <NavNumber view={tab} topics={topics} />
              </Link>
            </div>
          ))}
        </nav>
      )}
      <PageIntro view={view} />
    </div>
  );
}

/** A button that explains a page. */
function PageIntro({ view }: { view: View }) {
  const { t, i18n } = useTranslation();
  const { links } = usePages();
  return (
    <Popover width={340} position="bottom-end" shadow="md">
      <Popover.Target>
        <ActionIcon
          size="sm"
          ml="auto"
          aria-label={t('intro.label')}
          title={t('intro.label')}
          data-testid="page-intro"
        >
          <IconHelpCircle size={17} stroke={1.7} />
        </ActionIcon>
      </Popover.Target>
      <Popover.Dropdown>
        {t(`intro.${view}`)}{' '}
        {REPORT === null && (
          <Anchor href={docsUrl(links[view].docs, i18n.language)} target="_blank" rel="noreferrer">
            {t('intro.more')}
          </Anchor>
        )}
      </Popover.Dropdown>
    </Popover>
  );
}
