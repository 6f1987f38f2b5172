import { ActionIcon, Tooltip } from '@mantine/core';
import { IconArrowsMaximize, IconArrowsMinimize, IconX } from '@tabler/icons-react';
import { type ReactNode, useEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { isTyping } from '../base/keys';
import css from './Drawer.module.css';
import { useSessionUrl } from './useUrl';

/** The panel at the right. Not modal: the table beside it stays alive; on narrow screens it takes all. */
export function Drawer(props: {
  testId: string;
  title: ReactNode;
  subtitle?: ReactNode;
  onClose: () => void;
  children: ReactNode;
}) {
  const [url, change] = useSessionUrl();
  const { t } = useTranslation();
  const { onClose } = props;
  useEffect(() => {
    function onKey(event: KeyboardEvent): void {
      if (event.key === 'Escape' && !event.defaultPrevented && !isTyping(event.target)) onClose();
    }
    window.addEventListener('keydown', onKey);
    return () => window.removeEventListener('keydown', onKey);
  }, [onClose]);
  const panel = useRef<HTMLElement>(null);
  // Who opened it by keyboard or hears the page goes on in it.
  useEffect(() => panel.current?.focus({ preventScroll: true }), []);
  const wide = url.wide === true;
  const widen = t(wide ? 'common.shrink' : 'common.expand');
  return (
    <aside
      ref={panel}
      tabIndex={-1}
      className={css.drawer}
      data-wide={wide || undefined}
      data-testid={props.testId}
      aria-label={t('common.details')}
    >
      <PanelHead title={props.title} subtitle={props.subtitle}>
        <Tooltip label={widen}>
          <ActionIcon
            className={css.widen}
            size={28}
            aria-label={widen}
            onClick={() => change((before) => ({ ...before, wide: !wide || undefined }), { replace: true })}
          >
            {wide ? <IconArrowsMinimize size={16} /> : <IconArrowsMaximize size={16} />}
          </ActionIcon>
        </Tooltip>
        <Tooltip label={`${t('common.close')} (Esc)`}>
          <ActionIcon size={28} aria-label={t('common.close')} onClick={onClose} data-testid="drawer-close">
            <IconX size={18} />
          </ActionIcon>
        </Tooltip>
      </PanelHead>
      <div className={css.body}>{props.children}</div>
    </aside>
  );
}

/** What a panel is of, and at the right its buttons. */
export function PanelHead(props: { title: ReactNode; subtitle?: ReactNode; children: ReactNode }) {
  return (
    <div className={css.head}>
      <div className={css.title}>
        <h2>{props.title}</h2>
        <div className={css.subtitle}>{props.subtitle}</div>
      </div>
      {props.children}
    </div>
  );
}

export function Section(props: {
  title: ReactNode;
  right?: ReactNode;
  children: ReactNode;
  testId?: string;
}) {
  return (
    <section className={css.section} data-testid={props.testId}>
      <div className={css.sectionHead}>
        <h3>{props.title}</h3>
        <div className={css.sectionRight}>{props.right}</div>
      </div>
      {props.children}
    </section>
  );
}

export function Fields({ children }: { children: ReactNode }) {
  return <dl className={css.fields}>{children}</dl>;
}

/** One name and value; on hover the name that Ray and the API have for it. */
export function Field(props: { name: string; children: ReactNode; hint?: string }) {
  return (
    <>
      <dt title={props.hint}>{props.name}</dt>
      <dd>{props.children}</dd>
    </>
  );
}
