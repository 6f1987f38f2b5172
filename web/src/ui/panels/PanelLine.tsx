import { useTranslation } from 'react-i18next';
import { count } from '../../base/format';
import type { Tone } from '../../base/tokens';
import type { Url } from '../../base/url';
import { Dot } from '../Dot';
import { Link } from '../Link';
import { Time } from '../Time';
import words from '../theme/words.module.css';
import css from './PanelLine.module.css';

/** Maximum number of lines in an overview panel. */
export const MAX_LINES = 6;

/** An event or a state: when, what, and a description. */
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
      <Dot color={`var(--rs-tone-${props.tone})`} />
      <span className={`${words.dim} ${css.panelWhen}`}>
        <Time ns={props.ns} />
      </span>
      <span className={css.panelWhat}>
        {props.to === undefined ? (
          <span className={words.name}>{props.name}</span>
        ) : (
          <Link to={props.to} className={`${words.link} ${words.name}`}>
            {props.name}
          </Link>
        )}
        {(props.times ?? 1) > 1 && (
          <span
            className={`${words.num} ${words.dim}`}
            title={t('overview.times', { n: count(props.times) })}
          >
            {' '}
            × {count(props.times)}
          </span>
        )}
        {props.text !== '' && (
          <span className={words.dim} title={props.text}>
            {' '}
            {props.text}
          </span>
        )}
      </span>
    </li>
  );
}
