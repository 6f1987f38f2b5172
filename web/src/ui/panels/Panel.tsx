import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { isMissing } from '../../api/client';
import type { Url } from '../../base/url';
import { Dot } from '../Dot';
import { ErrorPanel } from '../ErrorPanel';
import { Link } from '../Link';
import words from '../theme/words.module.css';
import css from './Panel.module.css';
import shared from './panelText.module.css';

/** A section of the overview with the latest entries and a link to all of them. */
export function Panel(props: {
  title: string;
  /** Number of entries, shown next to the title. */
  note?: ReactNode;
  to?: Url;
  children: ReactNode;
  testId: string;
  wide?: boolean;
}) {
  const { t } = useTranslation();
  return (
    <section className={css.panel} data-wide={props.wide || undefined} data-testid={props.testId}>
      <header className={css.panelHead}>
        <h2>{props.title}</h2>
        {props.note !== undefined && (
          <span className={`${words.dim} ${words.num} ${css.panelNote}`}>{props.note}</span>
        )}
        {props.to !== undefined && (
          <Link to={props.to} className={`${words.link} ${css.panelMore}`} testId={`${props.testId}-all`}>
            {t('overview.all')}
          </Link>
        )}
      </header>
      {props.children}
    </section>
  );
}

/** Text of a panel without a list. `busy`: its data is still loading. */
export function PanelText({ children, good, busy }: { children: ReactNode; good?: boolean; busy?: boolean }) {
  return (
    <p className={`${shared.panelText} ${words.dim}`} aria-busy={busy}>
      {good === true && (
        <span className={css.good}>
          <Dot color="var(--rs-tone-good)" />
        </span>
      )}
      {children}
    </p>
  );
}

/** A panel's list, or the reason why it is empty. `missing` is shown if the answer is 404. */
export function PanelBody<T>(props: {
  data: T | undefined;
  error: Error | null;
  missing?: string;
  children: (data: T) => ReactNode;
}) {
  const { t } = useTranslation();
  if (props.data !== undefined) return props.children(props.data);
  if (props.missing !== undefined && isMissing(props.error)) return <PanelText>{props.missing}</PanelText>;
  if (props.error !== null) return <ErrorPanel error={props.error} />;
  return <PanelText busy>{t('overview.loading')}</PanelText>;
}
