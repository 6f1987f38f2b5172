import { TextInput } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { type FlowView, withSettings } from '../../base/url';
import { useSessionUrl } from '../../ui/useUrl';

/** Width of the box in each view, depending on the space that the view's other controls leave, px. */
const WIDTHS: Record<FlowView, number> = { logical: 200, physical: 190, gantt: 190, flame: 180, stack: 190 };

/** The search box of a view (`find` in the URL). Escape leaves the box, or empties it if `clears` is set. */
export function FindBox(props: {
  view: FlowView;
  label: string;
  clears?: boolean;
  found?: ReactNode;
  foundWidth?: number;
  /** `back` is set if Shift is pressed. */
  onEnter?: (back: boolean) => void;
}) {
  const [url, change] = useSessionUrl();
  const find = url.settings?.find ?? '';
  // Typing adds one entry to the history.
  const set = (text: string) =>
    change((before) => withSettings(before, { find: text || undefined }), { replace: find !== '' });
  return (
    <TextInput
      size="xs"
      w={WIDTHS[props.view]}
      placeholder={props.label}
      aria-label={props.label}
      leftSection={<IconSearch size={14} />}
      rightSection={props.found}
      rightSectionWidth={props.foundWidth}
      value={find}
      onChange={(event) => set(event.currentTarget.value)}
      onKeyDown={(event) => {
        if (event.key === 'Enter') props.onEnter?.(event.shiftKey);
        if (event.key !== 'Escape') return;
        event.stopPropagation();
        if (props.clears) set('');
        else event.currentTarget.blur();
      }}
      data-testid={`${props.view}-find`}
    />
  );
}
