import { TextInput } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { withSettings } from '../../base/url';
import { useSessionUrl } from '../../ui/useUrl';

/** What is searched for in a view (`find` in the URL). Escape leaves the box, or `clears` it. */
export function FindBox(props: {
  view: string;
  label: string;
  clears?: boolean;
  found?: ReactNode;
  foundWidth?: number;
  onEnter?: () => void;
}) {
  const [url, change] = useSessionUrl();
  const set = (text: string) =>
    change((before) => withSettings(before, { find: text || undefined }), { replace: true });
  return (
    <TextInput
      size="xs"
      className={`rs-${props.view}-find`}
      placeholder={props.label}
      aria-label={props.label}
      leftSection={<IconSearch size={14} />}
      rightSection={props.found}
      rightSectionWidth={props.foundWidth}
      value={url.settings?.find ?? ''}
      onChange={(event) => set(event.currentTarget.value)}
      onKeyDown={(event) => {
        if (event.key === 'Enter') props.onEnter?.();
        if (event.key !== 'Escape') return;
        event.stopPropagation();
        if (props.clears) set('');
        else event.currentTarget.blur();
      }}
      data-testid={`${props.view}-find`}
    />
  );
}
