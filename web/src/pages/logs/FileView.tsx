import { ActionIcon, Tooltip } from '@mantine/core';
import { IconDownload } from '@tabler/icons-react';
import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { apiPath } from '../../api/client';
import type { LogFile } from '../../api/schema';
import { bytes } from '../../base/format';
import { load } from '../../base/storage';
import { rangeIn, withSettings } from '../../base/url';
import { CopyButton } from '../../ui/CopyButton';
import { ErrorPanel } from '../../ui/ErrorPanel';
import { fileDetails, fileTitle } from '../../ui/logs/fileName';
import { LogLines } from '../../ui/logs/LogLines';
import { LogNote } from '../../ui/logs/LogNote';
import { searchOf } from '../../ui/logs/lines';
import layout from '../../ui/theme/layout.module.css';
import words from '../../ui/theme/words.module.css';
import { useServerMessage } from '../../ui/useServerMessage';
import { useSessionUrl } from '../../ui/useUrl';
import { FileControls } from './FileControls';
import { FileStatus } from './FileStatus';
import css from './FileView.module.css';
import shared from './logs.module.css';
import { NoLines } from './NoLines';
import { useLogFile } from './useLogFile';

/** Maximum number of lines that the button copies. */
const COPIED = 50_000;

/** A log file that can be followed, searched, and filtered by level and time. */
export function FileView({ node, file, about }: { node: string; file: string; about?: LogFile }) {
  const [url, change] = useSessionUrl();
  const { t } = useTranslation();
  const translate = useServerMessage();
  const settings = url.settings ?? {};
  const range = rangeIn(url.filters);
  const { line, from, find, level } = settings;
  const [followed, setFollow] = useState(line === undefined && from === undefined);
  const [wrap, setWrap] = useState(load('logs.wrap') === '1');
  // A click on a line puts the line into the URL but keeps the loaded lines. Only links from elsewhere jump
  // to a line.
  const [start, setStart] = useState({ line, from });
  const at = start.from === undefined ? start.line : undefined;
  const look = {
    session: url.session,
    node,
    file,
    line: find || level ? undefined : at,
    since: start.from ?? (start.line === undefined ? range?.from : undefined),
    until: range?.to,
    q: find,
    level,
  };
  // The lines just before the linked one are loaded when the user scrolls up.
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
    <div className={layout.viewMain} data-testid="logs-view">
      <div className={css.head}>
        <div className={css.title} title={file} data-testid="logs-name">
          {about !== undefined && fileTitle(t, about) !== file && (
            <div className={words.ellipsis}>
              <b>{fileTitle(t, about)}</b>{' '}
              <span className={words.dim}>{fileDetails(t, about).join(' · ')}</span>
            </div>
          )}
          <div className={`${words.ellipsis} ${words.mono} ${words.dim} ${css.file}`}>{file}</div>
        </div>
        <div className={css.actions}>
          <CopyButton
            label={t('logs.copy')}
            text={lines
              .slice(-COPIED)
              .map((each) => each.text)
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
        <FileControls
          live={live}
          followed={followed}
          wrap={wrap}
          onJump={jump}
          onFollow={setFollow}
          onWrap={setWrap}
        />
      </div>
      {loaded?.last.problem && (
        <LogNote testId="logs-problem">
          {t('logs.keptOnly')} {translate(loaded.last.problem).message}{' '}
          {t('logs.keptUpTo', { size: bytes(loaded.last.size) })}
        </LogNote>
      )}
      {gaps > 0 && <LogNote>{t('logs.missing', { size: bytes(gaps) })}</LogNote>}
      {view.error !== undefined ? (
        <ErrorPanel error={view.error} onRetry={view.retry} />
      ) : loaded === undefined ? (
        <p className={shared.state}>{t('logs.loading')}</p>
      ) : lines.length === 0 ? (
        <NoLines
          view={view}
          why={find || level ? 'noLines' : look.since || look.until ? 'noLinesInRange' : 'emptyFile'}
        />
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
              // Jump from a search hit to the lines around it in the unfiltered file.
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
      {loaded !== undefined && <FileStatus view={view} loaded={loaded} followed={followed} />}
    </div>
  );
}
