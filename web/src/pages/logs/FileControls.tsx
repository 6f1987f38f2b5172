import { ActionIcon, Select, Switch, TextInput, Tooltip } from '@mantine/core';
import { IconArrowBarToDown, IconArrowBarToUp, IconSearch } from '@tabler/icons-react';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { fromZoned, zoned } from '../../base/format';
import { save } from '../../base/storage';
import { withSettings } from '../../base/url';
import { useSessionUrl } from '../../ui/useUrl';
import css from './FileControls.module.css';

const LEVELS = ['info', 'warning', 'error', 'critical'] as const;
/** Search, level and time filters of a file's lines, and display options. */
export function FileControls(props: {
  /** Whether the file may still grow. */
  live: boolean;
  followed: boolean;
  wrap: boolean;
  onJump: (to: { line?: string; from?: string }, follow: boolean) => void;
  onFollow: (follow: boolean) => void;
  onWrap: (wrap: boolean) => void;
}) {
  const { live, followed, wrap } = props;
  const [url, change] = useSessionUrl();
  const { t } = useTranslation();
  const { from, find, level } = url.settings ?? {};
  const [text, setText] = useState(find ?? '');
  useEffect(() => setText(find ?? ''), [find]);
  const set = (changed: Parameters<typeof withSettings>[1]) =>
    change((before) => withSettings(before, changed), { replace: true });
  return (
    <div className={css.controls}>
      <TextInput
        size="xs"
        w={180}
        placeholder={t('logs.inFile')}
        aria-label={t('logs.inFile')}
        leftSection={<IconSearch size={14} />}
        value={text}
        maxLength={300}
        onChange={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter') set({ find: text || undefined });
          if (event.key === 'Escape') {
            event.stopPropagation();
            setText('');
            set({ find: undefined });
          }
        }}
        onBlur={() => text !== (find ?? '') && set({ find: text || undefined })}
        data-testid="logs-in-file"
      />
      <Select
        size="xs"
        w={142}
        clearable
        placeholder={t('logs.anyLevel')}
        aria-label={t('logs.level')}
        value={level ?? null}
        data={LEVELS.map((each) => ({ value: each, label: t(`logs.atLeast.${each}`) }))}
        onChange={(value) => set({ level: value ?? undefined })}
        data-testid="logs-level"
      />
      <input
        type="datetime-local"
        step={1}
        className={css.when}
        aria-label={t('logs.fromTime')}
        title={t('logs.fromTime')}
        value={localTime(from)}
        onChange={(event) => {
          const millis = fromZoned(event.currentTarget.value);
          if (!Number.isNaN(millis)) props.onJump({ from: `${millis}000000` }, false);
        }}
        data-testid="logs-from"
      />
      <Tooltip label={t('logs.toStart')}>
        <ActionIcon
          size={26}
          aria-label={t('logs.toStart')}
          onClick={() => props.onJump({ line: '0' }, false)}
          data-testid="logs-start"
        >
          <IconArrowBarToUp size={16} />
        </ActionIcon>
      </Tooltip>
      <Tooltip label={t('logs.toEnd')}>
        <ActionIcon
          size={26}
          aria-label={t('logs.toEnd')}
          onClick={() => props.onJump({}, true)}
          data-testid="logs-end"
        >
          <IconArrowBarToDown size={16} />
        </ActionIcon>
      </Tooltip>
      <Switch
        size="xs"
        label={t('logs.follow')}
        checked={followed && live}
        disabled={!live}
        onChange={(event) => (event.currentTarget.checked ? props.onJump({}, true) : props.onFollow(false))}
        data-testid="logs-follow"
      />
      <Switch
        size="xs"
        label={t('logs.wrap')}
        checked={wrap}
        onChange={(event) => {
          props.onWrap(event.currentTarget.checked);
          save('logs.wrap', event.currentTarget.checked ? '1' : '0');
        }}
      />
    </div>
  );
}

/** Formats a time for a `datetime-local` input, to the second. */
function localTime(ns: string | undefined): string {
  if (ns === undefined || !/^\d{16,19}$/.test(ns)) return '';
  return zoned(Number(ns) / 1e6).slice(0, 19);
}
