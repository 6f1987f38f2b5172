import { type ReactNode, useId } from 'react';
import css from './CardGraph.module.css';
import { type CardLink, columnsOf } from './cardColumns';

/** Between cards, CSS pixels. */
const GAP_X = 64;
const GAP_Y = 16;

interface Props {
  /** The cards by their ids. */
  cards: ReadonlyMap<string, ReactNode>;
  links: readonly CardLink[];
  /** Of each card, CSS pixels. */
  width: number;
  height: number;
  /** What the arrows say. */
  label: string;
  testId: string;
}

/** Cards in columns, and arrows between them from left to right. */
export function CardGraph({ cards, links, width, height, label, testId }: Props) {
  const tip = useId();
  const columns = columnsOf([...cards.keys()], links);
  const rows = Math.max(...columns.map((column) => column.length));
  const places = new Map<string, { x: number; y: number }>();
  for (const [at, column] of columns.entries()) {
    const top = ((rows - column.length) * (height + GAP_Y)) / 2;
    for (const [row, id] of column.entries())
      places.set(id, { x: at * (width + GAP_X), y: top + row * (height + GAP_Y) });
  }
  const size = {
    width: columns.length * (width + GAP_X) - GAP_X,
    height: rows * (height + GAP_Y) - GAP_Y,
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
            const start = places.get(from);
            const end = places.get(to);
            if (start === undefined || end === undefined) return null;
            const [x, y] = [start.x + width, start.y + height / 2];
            const [toX, toY] = [end.x, end.y + height / 2];
            const bend = Math.max(GAP_X / 2, Math.abs(toX - x) / 2);
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
