import { IconCpu } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import type { MergedFrame } from '../../api/schema';
import { count } from '../../base/format';
import { placeOf, useCodeName } from '../../ui/frames';
import words from '../../ui/theme/words.module.css';
import css from './FrameLine.module.css';
import type { Row } from './frames';
import shared from './stack.module.css';
import { Marked, Toggle } from './TreeParts';

/** A line of the tree that shows a Python frame. */
export function FrameLine(props: {
  row: Row;
  frame: MergedFrame;
  top: number;
  height: number;
  padding: number;
  search: string;
  selected: boolean;
  onSelect: (id: string) => void;
  onOpen: (id: string, open: boolean) => void;
}) {
  const { row, frame } = props;
  const { t } = useTranslation();
  const nameOf = useCodeName();
  const name = nameOf(frame);
  const place = placeOf(frame);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the tree has the keys.
    // biome-ignore lint/a11y/useFocusableInteractive: the tree has the focus (aria-activedescendant).
    <div
      id={`stack-${row.id}`}
      className={`${shared.line} ${shared.frameLine}`}
      role="treeitem"
      aria-level={row.level}
      aria-expanded={row.parent ? row.open : undefined}
      aria-selected={props.selected}
      data-testid="frame-line"
      data-frame={frame.name || frame.kind}
      data-kind={frame.kind}
      data-branch={row.branch || undefined}
      style={{ top: props.top, height: props.height, paddingLeft: props.padding }}
      onClick={() => props.onSelect(row.id)}
    >
      <span className={shared.frameMark} aria-hidden />
      <Toggle parent={row.parent} open={row.open} onOpen={(open) => props.onOpen(row.id, open)} />
      <span className={`${shared.frameName} ${words.ellipsis}`} title={name}>
        <Marked name={name} match={row.match} search={props.search} />
      </span>
      {frame.count > 1 && (
        <b className={words.num} title={t('frames.stacksHint')}>
          ×{count(frame.count)}
        </b>
      )}
      {place !== '' && (
        <span className={`${css.place} ${words.ellipsis} ${words.dim}`} title={place}>
          {place}
        </span>
      )}
      {frame.own > 0 && frame.active > 0 && (
        <span className={`${words.state} ${shared.badge}`} title={t('frames.activeHint')}>
          <IconCpu size={12} aria-hidden />
          {t('frames.active', { n: frame.count > 1 ? ` ${count(frame.active)}/${count(frame.count)}` : '' })}
        </span>
      )}
    </div>
  );
}
