import { useTranslation } from 'react-i18next';
import { count } from '../../base/format';
import type { Tone } from '../../base/tokens';
import type { Url } from '../../base/url';
import { Link } from '../../ui/Link';
import { Time } from '../../ui/Time';
import css from './PanelLine.module.css';

/** A panel of the overview lists so many. */
export const MAX_LINES = 6;

/** One thing that happened or is so: when, what, and the words for it. */
export function PanelLine(props: {
  tone: Tone;
  ns: number | null;
  to?: Url;
  name: string;
  text: string;
  times?: number;
}) {
  const { t } = useTranslation();
  return (
    <li className={css.panelLine}>
      <span className="rs-dot" style={{ background: `var(--rs-tone-${props.tone})` }} />
      <span className={`rs-dim ${css.panelWhen}`}>
        <Time ns={props.ns} />
      </span>
      <span className={css.panelWhat}>
        {props.to === undefined ? (
          <span className="rs-name">{props.name}</span>
        ) : (
          <Link to={props.to} className="rs-link rs-name">
            {props.name}
          </Link>
        )}
        {(props.times ?? 1) > 1 && (
          <span className="rs-num rs-dim" title={t('overview.times', { n: count(props.times) })}>
            {' '}
            × {count(props.times)}
          </span>
        )}
        {props.text !== '' && (
          <span className="rs-dim" title={props.text}>
            {' '}
            {props.text}
          </span>
        )}
      </span>
    </li>
  );
}
