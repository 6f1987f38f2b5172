import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useLayoutEffect, useMemo, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import type { LogLine } from '../../api/schema';
import { bytes, fullTime } from '../../base/format';
import css from './LogLines.module.css';
import { type LinePart, partsOf } from './lines';

const ROW = 19;
/** More lines are loaded when fewer than this many are left to scroll. */
const LOAD_AHEAD = 60;

/** Log lines. Only the visible ones are rendered. The usual keys scroll them. */
export function LogLines(props: {
  lines: LogLine[];
  search: RegExp | null;
  wrap: boolean;
  follow: boolean;
  /** The offset of the line that the link selects. */
  selected?: number;
  onSelect?: (offset: number) => void;
  onBefore?: () => void;
  onAfter?: () => void;
  /** Called when the user scrolls up, so that new lines must not move the view. */
  onLeave?: () => void;
  label: string;
  testId?: string;
}) {
  const { lines, follow, selected, onLeave } = props;
  const { t } = useTranslation();
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW,
    overscan: 30,
    paddingStart: 4,
    paddingEnd: 8,
    getItemKey: (at) => lines[at]?.offset ?? at,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: wrapping changes the height of lines.
  useLayoutEffect(() => virtual.measure(), [props.wrap]);

  // Keep the scroll position when lines are inserted above.
  const first = useRef<{ offset: number; count: number } | null>(null);
  useLayoutEffect(() => {
    const begin = lines[0]?.offset;
    const known = first.current;
    if (begin !== undefined && known !== null && begin < known.offset) {
      const added = lines.findIndex((line) => line.offset === known.offset);
      if (added > 0 && scroller.current !== null) scroller.current.scrollTop += added * ROW;
    }
    first.current = begin === undefined ? null : { offset: begin, count: lines.length };
  }, [lines]);

  const last = lines.at(-1);
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs when a line arrives or following begins.
  useEffect(() => {
    if (follow && lines.length > 0) virtual.scrollToIndex(lines.length - 1, { align: 'end' });
  }, [follow, last?.offset, last?.length, props.wrap]);

  const wanted = selected === undefined ? -1 : lines.findIndex((line) => line.offset >= selected);
  const shown = useRef<number | undefined>(undefined);
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs once for each line that a link selects.
  useEffect(() => {
    if (wanted < 0 || shown.current === selected) return;
    shown.current = selected;
    virtual.scrollToIndex(wanted, { align: 'center' });
  }, [selected, wanted]);

  const items = virtual.getVirtualItems();
  const from = items[0]?.index ?? 0;
  const to = items.at(-1)?.index ?? 0;
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs when an end of the lines comes near.
  useEffect(() => {
    if (lines.length === 0) return;
    if (from < LOAD_AHEAD) props.onBefore?.();
    if (to > lines.length - LOAD_AHEAD) props.onAfter?.();
  }, [from < LOAD_AHEAD, to > lines.length - LOAD_AHEAD, lines.length]);

  const widest = useMemo(
    () => lines.slice(0, 20_000).reduce((most, line) => Math.max(most, line.text.length), 0),
    [lines],
  );
  return (
    <section
      ref={scroller}
      className={css.lines}
      data-wrap={props.wrap || undefined}
      aria-label={props.label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable regions must be reachable by keyboard.
      tabIndex={0}
      onWheel={(event) => event.deltaY < 0 && onLeave?.()}
      onKeyDown={(event) => {
        if (/^(ArrowUp|PageUp|Home)$/.test(event.key)) onLeave?.();
        if (event.key === 'End') props.onAfter?.();
      }}
      data-testid={props.testId ?? 'log-lines'}
      data-count={lines.length}
    >
      <div
        style={{
          height: virtual.getTotalSize(),
          position: 'relative',
          minWidth: props.wrap ? undefined : `calc(${Math.min(widest, 4_000)}ch + 40px)`,
        }}
      >
        {items.map((item) => {
          const line = lines[item.index];
          if (line === undefined) return null;
          return (
            <div
              key={item.key}
              ref={props.wrap ? virtual.measureElement : undefined}
              data-index={item.index}
              className={css.line}
              data-level={line.level ?? undefined}
              data-mark={line.is_mark || undefined}
              data-selected={line.offset === selected || undefined}
              style={{ transform: `translateY(${item.start}px)` }}
              title={line.time_ns === null ? undefined : fullTime(line.time_ns)}
            >
              <button
                type="button"
                className={css.anchor}
                aria-label={t('logs.linkLine')}
                title={t('logs.linkLine')}
                tabIndex={-1}
                onClick={() => props.onSelect?.(line.offset)}
              />
              <span className={css.text}>
                {partsOf(line, props.search).map((part, at) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: parts of a text have no other identity.
                  <LinePartText key={at} part={part} />
                ))}
                {line.is_cut && (
                  <span className={css.cut}>{t('logs.cut', { size: bytes(line.length) })}</span>
                )}
              </span>
            </div>
          );
        })}
      </div>
    </section>
  );
}

function LinePartText({ part: { text, found, style } }: { part: LinePart }) {
  const Tag = found ? 'mark' : 'span';
  if (style === undefined) return <Tag>{text}</Tag>;
  const { color, background } = style;
  return (
    <Tag
      className={css.styled}
      data-bold={style.bold || undefined}
      data-dim={style.dim || undefined}
      data-italic={style.italic || undefined}
      data-underline={style.underline || undefined}
      style={{ color: paint(color), background: found ? undefined : paint(background) }}
    >
      {text}
    </Tag>
  );
}

const paint = (color: string | null) =>
  color === null || color.startsWith('#')
    ? (color ?? undefined)
    : `var(--rs-terminal-${color.replace('bright-', '')})`;
