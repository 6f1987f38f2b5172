import { useTranslation } from 'react-i18next';
import type { FlameFrame } from '../../api/schema';
import { count } from '../../base/format';
import words from '../../ui/theme/words.module.css';
import css from './FlameList.module.css';
import { shareText } from './flame';
import { useFrameName } from './flameText';

/** Maximum number of callers or callees that are listed. */
const MAX_LISTED = 8;

/** The largest frames of a list, with links. */
export function FlameList(props: {
  title: string;
  testId: string;
  items: FlameFrame[];
  whole: number;
  text: (value: number) => string;
  onPick: (frame: FlameFrame) => void;
  can?: (frame: FlameFrame) => boolean;
  /** A second line for each frame. */
  note?: ((frame: FlameFrame) => string) | undefined;
}) {
  const { t } = useTranslation();
  const nameOf = useFrameName();
  const sorted = props.items.filter((frame) => frame.value > 0).sort((a, b) => b.value - a.value);
  return (
    <section className={css.list} data-testid={props.testId}>
      <h3>{props.title}</h3>
      {sorted.length === 0 && <p className={words.dim}>{t('flame.none')}</p>}
      <ul>
        {sorted.slice(0, MAX_LISTED).map((frame) => (
          <li key={frame.id}>
            <button
              type="button"
              disabled={frame.kind === 'other' || props.can?.(frame) === false}
              onClick={() => props.onPick(frame)}
            >
              <span
                className={css.bar}
                style={{
                  width: `${props.whole > 0 ? Math.min(100, (100 * frame.value) / props.whole) : 0}%`,
                }}
              />
              <span className={words.ellipsis} title={nameOf(frame)}>
                {nameOf(frame)}
              </span>
              <span className={words.num}>{props.text(frame.value)}</span>
              <span className={`${words.num} ${words.dim}`}>{shareText(frame.value, props.whole)}</span>
              {props.note !== undefined && (
                <span className={`${css.note} ${words.num} ${words.dim}`}>{props.note(frame)}</span>
              )}
            </button>
          </li>
        ))}
      </ul>
      {sorted.length > MAX_LISTED && (
        <p className={words.dim}>{t('common.moreRows', { n: count(sorted.length - MAX_LISTED) })}</p>
      )}
    </section>
  );
}
