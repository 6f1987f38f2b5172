import { Anchor } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Tone } from '../base/tokens';
import css from './Banner.module.css';

/** A one-line note on missing data or a problem; `details` unfold below it. */
export function Banner(props: {
  testId: string;
  tone: Tone;
  /** For information that is no cause for concern. */
  mild?: boolean;
  icon: ReactNode;
  children: ReactNode;
  details?: ReactNode;
}) {
  const { t } = useTranslation();
  const [open, setOpen] = useState(false);
  return (
    <div
      className={css.banner}
      data-testid={props.testId}
      data-mild={props.mild || undefined}
      style={{ '--rs-banner': `var(--rs-tone-${props.tone})` } as React.CSSProperties}
      role="status"
    >
      <span className={css.icon}>{props.icon}</span>
      <div className={css.text}>
        <span>{props.children}</span>{' '}
        {props.details && (
          <Anchor
            component="button"
            type="button"
            size={props.mild ? 'xs' : 'sm'}
            onClick={() => setOpen(!open)}
            aria-expanded={open}
          >
            {t(open ? 'common.hideDetails' : 'common.details')}
          </Anchor>
        )}
        {open && <div className={css.details}>{props.details}</div>}
      </div>
    </div>
  );
}
