import { useTranslation } from 'react-i18next';
import { count } from '../base/format';
import type { View } from '../base/url';
import words from '../ui/theme/words.module.css';
import css from './NavNumber.module.css';
import { type Topics, usePages } from './pages';

/** The number of a view. `onlyAlarm`: hidden unless it calls for attention. */
export function NavNumber(props: { view: View; topics: Topics; onlyAlarm?: true }) {
  const { t } = useTranslation();
  const { number: numberOf, tone } = usePages().links[props.view];
  const number = numberOf?.(props.topics);
  if (number === undefined || (props.onlyAlarm && (number === 0 || tone === undefined))) return null;
  return (
    <span
      className={`${css.number} ${words.num}`}
      data-tone={number === 0 ? undefined : tone?.(props.topics)}
      title={t(`nav.${props.view}`)}
    >
      {count(number)}
    </span>
  );
}
