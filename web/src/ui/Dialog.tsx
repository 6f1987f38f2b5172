import { Modal, type ModalProps } from '@mantine/core';
import { useEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';

/** A dialog that is open while it is mounted. The focus then goes back to where it was, or else to the page. */
export function Dialog(props: Omit<ModalProps, 'opened'>) {
  const { t } = useTranslation();
  const before = useRef(document.activeElement);
  useEffect(() => {
    const element = before.current;
    return () => {
      // Closing may change the page, which is drawn after this.
      setTimeout(() => {
        if (document.activeElement !== document.body) return;
        const isThere = element instanceof HTMLElement && element !== document.body && element.isConnected;
        (isThere ? element : document.getElementById('main'))?.focus({ preventScroll: true });
      });
    };
  }, []);
  return <Modal {...props} opened closeButtonProps={{ 'aria-label': t('common.close') }} />;
}
