import type { ReactNode } from 'react';
import type { Url } from '../base/url';
import { Link } from './Link';
import css from './Stat.module.css';
import words from './theme/words.module.css';

/** A key figure with its name. */
export function Stat(props: {
  name: string;
  value: ReactNode;
  note?: string;
  bad?: boolean;
  wide?: boolean;
  to?: Url;
  testId?: string;
}) {
  return (
    <div className={css.stat} data-wide={props.wide || undefined} title={props.note}>
      <div className={css.statName}>{props.name}</div>
      <div className={`${css.statValue} ${words.num}`} data-bad={props.bad || undefined}>
        {props.to === undefined ? (
          props.value
        ) : (
          <Link
            to={props.to}
            className={css.statLink}
            testId={props.testId}
            label={`${props.name}: ${String(props.value)}`}
          >
            {props.value}
          </Link>
        )}
      </div>
    </div>
  );
}
