import { ActionIcon, Button, Select, Switch, TextInput, Tooltip } from '@mantine/core';
import { IconArrowBarToDown, IconArrowBarToUp, IconDownload, IconSearch } from '@tabler/icons-react';
import { useEffect, useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { apiPath } from '../../api/client';
import { bytes, count } from '../../base/format';
import { load, save } from '../../base/storage';
import { withSettings } from '../../base/url';
import { CopyButton } from '../../ui/CopyButton';
import { EmptyState } from '../../ui/EmptyState';
import { ErrorPanel } from '../../ui/ErrorPanel';
import { LogLines } from '../../ui/logs/LogLines';
import { searchOf, shownText } from '../../ui/logs/lines';
import { useServerMessage } from '../../ui/useServerMessage';
import { useSessionUrl } from '../../ui/useUrl';
import css from './FileView.module.css';
import shared from './logs.module.css';
import { useLogFile } from './useLogFile';

const LEVELS = ['info', 'warning', 'error', 'critical'] as const;
/** Lines that the button copies at most. */
const COPIED = 50_000;

/** One file: its lines, followed while it is written, searched, filtered by level, from a time on. */
export function FileView({ node, file }: { node: string; file: string }) {
  const [url, change] = useSessionUrl();
  const { t } = useTranslation();
  const translate = useServerMessage('agent');
  const settings = url.settings ?? {};
  const { line, from, find, level } = settings;
  const [text, setText] = useState(find ?? '');
  const [followed, setFollow] = useState(line === undefined && from === undefined);
  const [wrap, setWrap] = useState(load('logs.wrap') === '1');
  useEffect(() => setText(find ?? ''), [find]);
  // A line that was clicked is in the link, but what is loaded stays: only a link that comes from elsewhere jumps.
  const [start, setStart] = useState({ line, from });
  const at = start.from === undefined ? start.line : undefined;
  const look = {
    session: url.session,
    node,
    file,
    line: find || level ? undefined : at,
    since: start.from,
    q: find,
    level,
  };
  // A few lines before the one that the link names come by scrolling up.
  const view = useLogFile(look, followed);
  const { loaded } = view;
  const search = useMemo(() => searchOf(find, false), [find]);
  const set = (changed: Parameters<typeof withSettings>[1]) =>
    change((before) => withSettings(before, changed), { replace: true });

  const jump = (to: { line?: string; from?: string }, follow: boolean) => {
    setStart({ line: to.line, from: to.from });
    setFollow(follow);
    set({ line: to.line, from: to.from });
  };
  const live = loaded?.last.live === true;
  const lines = loaded?.lines ?? [];
  const gaps = loaded?.missing.reduce((sum, gap) => sum + gap.end - gap.begin, 0) ?? 0;
  return (
    <div className="rs-view-main" data-testid="logs-view">
      <div className={css.head}>
        <span className={`rs-ellipsis ${css.title} rs-mono`} title={file} data-testid="logs-name">
          {file}
        </span>
        <div className={css.actions}>
          <CopyButton
            label={t('logs.copy')}
            text={lines
              .slice(-COPIED)
              .map((each) => shownText(each.text))
              .join('\n')}
          />
          <Tooltip label={t('logs.download')}>
            <ActionIcon
              size={26}
              component="a"
              href={apiPath('/logs/download', { session: url.session, node_id: node, name: file })}
              download
              aria-label={t('logs.download')}
              data-testid="logs-download"
            >
              <IconDownload size={16} />
            </ActionIcon>
          </Tooltip>
        </div>
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
              const millis = new Date(event.currentTarget.value).getTime();
              if (!Number.isNaN(millis)) jump({ from: `${millis}000000` }, false);
            }}
            data-testid="logs-from"
          />
          <Tooltip label={t('logs.toStart')}>
            <ActionIcon
              size={26}
              aria-label={t('logs.toStart')}
              onClick={() => jump({ line: '0' }, false)}
              data-testid="logs-start"
            >
              <IconArrowBarToUp size={16} />
            </ActionIcon>
          </Tooltip>
          <Tooltip label={t('logs.toEnd')}>
            <ActionIcon
              size={26}
              aria-label={t('logs.toEnd')}
              onClick={() => jump({}, true)}
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
            onChange={(event) => (event.currentTarget.checked ? jump({}, true) : setFollow(false))}
            data-testid="logs-follow"
          />
          <Switch
            size="xs"
            label={t('logs.wrap')}
            checked={wrap}
            onChange={(event) => {
              setWrap(event.currentTarget.checked);
              save('logs.wrap', event.currentTarget.checked ? '1' : '0');
            }}
          />
        </div>
      </div>
      {loaded?.last.problem && (
        <div className="rs-logs-note" data-testid="logs-problem">
          {t('logs.keptOnly')} {translate(loaded.last.problem).message}{' '}
          {t('logs.keptUpTo', { size: bytes(loaded.last.size) })}
        </div>
      )}
      {gaps > 0 && <div className="rs-logs-note">{t('logs.missing', { size: bytes(gaps) })}</div>}
      {view.error !== undefined ? (
        <ErrorPanel error={view.error} onRetry={view.retry} />
      ) : loaded === undefined ? (
        <p className={shared.state}>{t('logs.loading')}</p>
      ) : lines.length === 0 ? (
        <EmptyState
          icon={<IconSearch size={26} />}
          title={t(find || level ? 'logs.noLines' : 'logs.emptyFile')}
        >
          {loaded.more || loaded.prev !== null
            ? find || level
              ? t('logs.lookedThrough', { size: bytes(loaded.last.end - loaded.last.begin) })
              : undefined
            : undefined}
          {(loaded.more || loaded.prev !== null) && (
            <Button
              size="compact-xs"
              variant="default"
              mt={8}
              loading={view.loading !== null}
              onClick={loaded.prev !== null ? view.before : view.after}
            >
              {t('logs.lookFurther')}
            </Button>
          )}
        </EmptyState>
      ) : (
        <LogLines
          key={`${node}/${file}/${at}/${start.from}`}
          lines={lines}
          search={search}
          wrap={wrap}
          follow={followed && start.line === undefined && start.from === undefined}
          selected={line === undefined ? undefined : Number(line)}
          onSelect={(offset) => {
            setFollow(false);
            if (find || level) {
              // Out of what was found, into the file around it.
              setStart({ line: String(offset), from: undefined });
              set({ find: undefined, level: undefined, from: undefined, line: String(offset) });
            } else set({ line: String(offset) });
          }}
          onBefore={loaded.prev !== null ? view.before : undefined}
          onAfter={loaded.more ? view.after : undefined}
          onLeave={() => setFollow(false)}
          label={t('logs.linesOf', { name: file })}
        />
      )}
      {loaded !== undefined && (
        <div className={`${shared.state} rs-num`}>
          <span>{t('logs.lines', { n: count(lines.length) })}</span>
          <span>
            {t('logs.bytesOf', {
              from: bytes(lines[0]?.offset ?? loaded.last.begin),
              to: bytes(loaded.next),
              size: bytes(loaded.last.size),
            })}
          </span>
          <span>{live ? t(followed ? 'logs.following' : 'logs.live') : t('logs.fromKept')}</span>
          {view.loading !== null && <span>{t('logs.loading')}</span>}
        </div>
      )}
    </div>
  );
}

/** As an input of that type wants it: local time, to the second. */
function localTime(ns: string | undefined): string {
  if (ns === undefined || !/^\d{16,19}$/.test(ns)) return '';
  const date = new Date(Number(ns) / 1e6);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}
