import { ScrollArea, Tooltip } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { REPORT } from '../base/report';
import {
  isLibrary,
  PLACES,
  type Place,
  placeOf,
  type SessionUrl,
  toTab,
  type View,
  viewsOf,
} from '../base/url';
import { Link } from '../ui/Link';
import words from '../ui/theme/words.module.css';
import css from './Nav.module.css';
import { NavNumber } from './NavNumber';
import { type Topics, usePages } from './pages';

/** The views of a place that this page can open. */
export function openViews(place: Place): View[] {
  return viewsOf(place).filter((view) => REPORT === null || REPORT.views.includes(view));
}

/** The places of a session. */
export function Nav({ url, topics }: { url: SessionUrl; topics: Topics }) {
  const { t } = useTranslation();
  const { links, prefetch } = usePages();
  const libraries = topics.cluster?.libraries ?? {};
  const places = PLACES.map((place) => ({ place, views: openViews(place) }))
    .filter(({ views: [view] }) => !view || !isLibrary(view) || view in libraries || view === url.view)
    .flatMap(({ place, views: [view, ...others] }) => (view ? [{ place, view, others }] : []));
  return (
    <nav className={css.nav} aria-label={t('nav.label')}>
      <ScrollArea type="never" h="100%">
        {places.map(({ place, view, others }) => {
          const { icon: Icon } = links[view];
          return (
            <Tooltip key={place} label={t(`nav.${place}`)} position="right" hiddenFrom="md">
              {/* Prefetches a hovered page, which is likely to be opened next. */}
              <div onPointerEnter={() => prefetch(view)}>
                <Link
                  to={toTab(url, view)}
                  className={css.link}
                  current={placeOf(url.view) === place}
                  testId={`nav-${place}`}
                >
                  <Icon size={17} stroke={1.7} aria-hidden />
                  <span className={`${css.text} ${words.ellipsis} ${words.hiddenNarrow}`}>
                    {t(`nav.${place}`)}
                  </span>
                  {/* The number of a place that is named after its first view, and the alarms of the others. */}
                  {place === view && <NavNumber view={view} topics={topics} />}
                  {others.map((one) => (
                    <NavNumber key={one} view={one} topics={topics} onlyAlarm />
                  ))}
                </Link>
              </div>
            </Tooltip>
          );
        })}
      </ScrollArea>
    </nav>
  );
}
