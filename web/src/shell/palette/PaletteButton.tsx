import { Kbd } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import { lazy, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { isTyping, keyName } from '../../base/keys';
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
  const [text, setText] = useState('');
  const toggle = (opens: boolean) => {
    setOpened(opens);
    setText('');
  };
  // The dialog is loaded before the user opens it, so that it opens immediately.
  useEffect(() => {
    const timer = setTimeout(() => void load().catch(() => undefined), 2000);
    return () => clearTimeout(timer);
  }, []);
  // Until the dialog has the focus, what the user types goes into its field from here.
  useEffect(() => {
    if (!opened) return;
    const collect = (event: KeyboardEvent) => {
      const isText = event.key.length === 1 && !event.ctrlKey && !event.metaKey && !event.altKey;
      if (!isText || isTyping(event.target)) return;
      event.preventDefault();
      event.stopPropagation();
      setText((before) => before + event.key);
    };
    const stop = () => window.removeEventListener('keydown', collect, true);
    window.addEventListener('keydown', collect, true);
    load().catch(stop);
    return stop;
  }, [opened]);
  useKeys(t('keys.anywhere'), [{ keys: ['mod+k'], label: t('keys.find'), run: () => toggle(!opened) }]);
  return (
    <>
      <button
        type="button"
        className={css.button}
        aria-keyshortcuts="Control+K Meta+K"
        onClick={() => toggle(true)}
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
          <Palette text={text} onText={setText} onClose={() => toggle(false)} />
        </PageBoundary>
      )}
    </>
  );
}
