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
  /**
   * The difference of a frame from the compared one. If it is given, frames are sorted by its size, largest
   * first.
   */
  change?: ((frame: FlameFrame) => { by: number; text: string }) | undefined;
}) {
  const { t } = useTranslation();
  const nameOf = useFrameName();
  const size = (frame: FlameFrame) => Math.max(frame.value, frame.baseline_value ?? 0);
  const { change } = props;
  const weight = change === undefined ? size : (frame: FlameFrame) => Math.abs(change(frame).by);
  const sorted = props.items
    .filter((frame) => size(frame) > 0)
    .sort((a, b) => weight(b) - weight(a) || size(b) - size(a));
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
              <span className={`${words.num} ${words.dim}`}>
                {change === undefined ? shareText(frame.value, props.whole) : change(frame).text}
              </span>
              {props.note !== undefined && (
                <span className={`${css.note} ${words.num} ${words.dim}`}>{props.note(frame)}</span>
              )}
            </button>
          </li>
        ))}
      </ul>
      {sorted.length > MAX_LISTED && (
        <p className={words.dim}>{t('flame.moreOf', { n: count(sorted.length - MAX_LISTED) })}</p>
      )}
    </section>
  );
}
