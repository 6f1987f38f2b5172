import { type ReactNode, useId } from 'react';
import css from './CardGraph.module.css';
import { type CardLink, columnsOf } from './cardColumns';

/** Horizontal gap between cards, CSS px. */
const GAP_X = 64;
/** Horizontal gap if the arrows have notes, CSS px. */
const GAP_X_NOTES = 128;
/** Vertical gap between cards, CSS px. */
const GAP_Y = 16;

/** The note of an arrow: its label and its tooltip. */
interface LinkNote {
  from: string;
  to: string;
  note: ReactNode;
  title: string;
}

interface Props {
  /** The cards by id. */
  cards: ReadonlyMap<string, ReactNode>;
  links: readonly CardLink[];
  notes?: readonly LinkNote[];
  /** Size of each card, CSS px. */
  width: number;
  height: number;
  /** Accessible description of the arrows. */
  label: string;
  testId: string;
}

/** Cards in columns, with arrows from left to right. */
export function CardGraph({ cards, links, notes = [], width, height, label, testId }: Props) {
  const tip = useId();
  const gap = notes.length > 0 ? GAP_X_NOTES : GAP_X;
  const columns = columnsOf([...cards.keys()], links);
  const rows = Math.max(...columns.map((column) => column.length));
  const places = new Map<string, { x: number; y: number }>();
  for (const [at, column] of columns.entries()) {
    const top = ((rows - column.length) * (height + GAP_Y)) / 2;
    for (const [row, id] of column.entries())
      places.set(id, { x: at * (width + gap), y: top + row * (height + GAP_Y) });
  }
  const size = {
    width: columns.length * (width + gap) - gap,
    height: rows * (height + GAP_Y) - GAP_Y,
  };
  const endsOf = (from: string, to: string) => {
    const start = places.get(from);
    const end = places.get(to);
    if (start === undefined || end === undefined) return null;
    return { x: start.x + width, y: start.y + height / 2, toX: end.x, toY: end.y + height / 2 };
  };
  return (
    <div className={css.scroll}>
      <div className={css.graph} style={size} data-testid={testId}>
        <svg {...size} role="img" aria-label={label}>
          <defs>
            <marker
              id={tip}
              viewBox="0 0 8 8"
              refX="7"
              refY="4"
              markerWidth="8"
              markerHeight="8"
              orient="auto"
            >
              <path d="M0,0L8,4L0,8Z" className={css.tip} />
            </marker>
          </defs>
          {links.map(([from, to]) => {
            const ends = endsOf(from, to);
            if (ends === null) return null;
            const { x, y, toX, toY } = ends;
            const bend = Math.max(gap / 2, Math.abs(toX - x) / 2);
            return (
              <path
                key={`${from}>${to}`}
                className={css.link}
                d={`M${x},${y}C${x + bend},${y} ${toX - bend},${toY} ${toX},${toY}`}
                markerEnd={`url(#${tip})`}
                data-testid="card-link"
              >
                <title>{`${from} → ${to}`}</title>
              </path>
            );
          })}
        </svg>
        {notes.map(({ from, to, note, title }) => {
          const ends = endsOf(from, to);
          if (ends === null) return null;
          const { x, y, toX, toY } = ends;
          // Place the note in the middle of an arrow between adjacent columns. For a longer arrow, place it
          // in the gap before the target card, where the arrow emerges from behind the other cards.
          const far = toX - x;
          const at = far > 0 && far <= gap ? 0.5 : 1 - gap / 3 / Math.abs(far);
          const left = far > 0 && far <= gap ? (x + toX) / 2 : toX - gap / 2;
          const top = y + (toY - y) * (3 * (1 - at) * at ** 2 + at ** 3);
          return (
            <span
              key={`${from}>${to}`}
              className={css.note}
              style={{ left, top }}
              title={title}
              data-testid="card-note"
            >
              {note}
            </span>
          );
        })}
        {[...cards].map(([id, card]) => (
          <div
            key={id}
            className={css.placed}
            style={{ transform: `translate(${places.get(id)?.x ?? 0}px, ${places.get(id)?.y ?? 0}px)` }}
          >
            {card}
          </div>
        ))}
      </div>
    </div>
  );
}
