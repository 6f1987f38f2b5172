import { ActionIcon, Tooltip } from '@mantine/core';
import { IconArrowsMaximize, IconArrowsMinimize, IconX } from '@tabler/icons-react';
import { type ReactNode, useEffect, useId, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import css from './Drawer.module.css';
import { useKeys } from './useKeys';
import { useSessionUrl } from './useUrl';

/**
 * The panel at the right. It is not modal, so the table next to it stays usable. On narrow screens it covers
 * everything.
 */
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
  useKeys(t('keys.panel'), [{ keys: ['Escape'], label: t('keys.closePanel'), run: onClose }]);
  const panel = useRef<HTMLElement>(null);
  const titleId = useId();
  // For users of keyboards and screen readers, move the focus into the drawer when it opens, and back to
  // where it was when it closes.
  useEffect(() => {
    const before = document.activeElement;
    panel.current?.focus({ preventScroll: true });
    return () => {
      if (before instanceof HTMLElement && document.activeElement === document.body)
        before.focus({ preventScroll: true });
    };
  }, []);
  const wide = url.wide === true;
  const widen = t(wide ? 'common.shrink' : 'common.expand');
  return (
    <aside
      ref={panel}
      tabIndex={-1}
      className={css.drawer}
      data-wide={wide || undefined}
      data-testid={props.testId}
      aria-labelledby={titleId}
    >
      <PanelHead title={props.title} titleId={titleId} subtitle={props.subtitle}>
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

/** The heading of a panel: its subject, and its buttons at the right. */
export function PanelHead(props: {
  title: ReactNode;
  titleId?: string;
  subtitle?: ReactNode;
  children: ReactNode;
}) {
  return (
    <div className={css.head}>
      <div className={css.title}>
        <h2 id={props.titleId}>{props.title}</h2>
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
        <h2>{props.title}</h2>
        <div className={css.sectionRight}>{props.right}</div>
      </div>
      {props.children}
    </section>
  );
}

export function Fields({ children }: { children: ReactNode }) {
  return <dl className={css.fields}>{children}</dl>;
}

/** A name with its value. The hint shows the name that Ray and the API use. */
export function Field(props: { name: string; children: ReactNode; hint?: string }) {
  return (
    <>
      <dt title={props.hint}>{props.name}</dt>
      <dd>{props.children}</dd>
    </>
  );
}
