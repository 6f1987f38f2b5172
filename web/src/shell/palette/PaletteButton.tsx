import { Kbd } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import { lazy, Suspense, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { keyName } from '../../base/keys';
import { PageBoundary } from '../../ui/PageBoundary';
import words from '../../ui/theme/words.module.css';
import { useKeys } from '../../ui/useKeys';
import css from './PaletteButton.module.css';

const load = () => import('./Palette');
const Palette = lazy(load);

/** A button that opens the search dialog, as Ctrl+K does. */
export function PaletteButton() {
  const { t } = useTranslation();
  const [opened, setOpened] = useState(false);
  // Load the dialog before the user opens it. Otherwise the first keystrokes in it would be lost.
  useEffect(() => {
    const timer = setTimeout(() => void load().catch(() => undefined), 2000);
    return () => clearTimeout(timer);
  }, []);
  useKeys(t('keys.anywhere'), [
    { keys: ['mod+k'], label: t('keys.find'), run: () => setOpened((before) => !before) },
  ]);
  return (
    <>
      <button
        type="button"
        className={css.button}
        aria-keyshortcuts="Control+K Meta+K"
        onClick={() => setOpened(true)}
        data-testid="palette-button"
      >
        <IconSearch size={15} aria-hidden />
        <span className={`${css.text} ${words.hiddenNarrow}`}>{t('palette.button')}</span>
        <Kbd size="xs" className={words.hiddenNarrow}>
          {keyName('mod+k')}
        </Kbd>
      </button>
      {opened && (
        <PageBoundary>
          <Suspense>
            <Palette onClose={() => setOpened(false)} />
          </Suspense>
        </PageBoundary>
      )}
    </>
  );
}
