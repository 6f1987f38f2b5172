import { ActionIcon } from '@mantine/core';
import { IconKeyboard } from '@tabler/icons-react';
import { lazy, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { SHOW_KEYS, showKeys } from '../../base/keys';
import { PageBoundary } from '../../ui/PageBoundary';
import { useKeys } from '../../ui/useKeys';

const KeyHelp = lazy(() => import('./KeyHelp'));

/** A button that opens the list of keys, as `?` does. */
export function KeyHelpButton() {
  const { t } = useTranslation();
  const [opened, setOpened] = useState(false);
  useKeys(t('keys.anywhere'), [{ keys: ['?'], label: t('keys.help'), run: showKeys }]);
  useEffect(() => {
    const open = () => setOpened(true);
    window.addEventListener(SHOW_KEYS, open);
    return () => window.removeEventListener(SHOW_KEYS, open);
  }, []);
  return (
    <>
      <ActionIcon
        size={30}
        aria-label={t('keys.title')}
        title={`${t('keys.title')} (?)`}
        onClick={showKeys}
        data-testid="keys-button"
      >
        <IconKeyboard size={18} />
      </ActionIcon>
      {opened && (
        <PageBoundary>
          <KeyHelp onClose={() => setOpened(false)} />
        </PageBoundary>
      )}
    </>
  );
}
