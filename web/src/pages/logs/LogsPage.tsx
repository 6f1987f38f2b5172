import { Checkbox, TextInput } from '@mantine/core';
import { IconFileText, IconSearch } from '@tabler/icons-react';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { LogFile } from '../../api/schema';
import { withSettings } from '../../base/url';
import { EmptyState } from '../../ui/EmptyState';
import { ErrorPanel } from '../../ui/ErrorPanel';
import { Toolbar } from '../../ui/Toolbar';
import layout from '../../ui/theme/layout.module.css';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import { FileTree } from './FileTree';
import { FileView } from './FileView';
import css from './LogsPage.module.css';
import shared from './logs.module.css';
import { SearchResults } from './SearchResults';
import { useLogFiles } from './useLogFile';

/**
 * Number of nodes up to which the page loads all files. On larger clusters, the server searches for file
 * names.
 */
const FEW_NODES = 8;

/** The log files of the session, by node and with Ray's file names. */
export default function LogsPage() {
  const [url, change] = useSessionUrl();
  const { t } = useTranslation();
  const settings = url.settings ?? {};
  const { node, file, search } = settings;
  const [filter, setFilter] = useState('');
  const [text, setText] = useState(search ?? '');
  const [asked, setAsked] = useState('');
  useEffect(() => setText(search ?? ''), [search]);
  useEffect(() => {
    const timer = setTimeout(() => setAsked(filter.trim()), 300);
    return () => clearTimeout(timer);
  }, [filter]);
  const [many, setMany] = useState(false);
  const hidesEmpty = settings.hide !== 'none';
  const files = useLogFiles(
    url.session,
    hidesEmpty,
    many && asked === '' ? node : undefined,
    many ? asked : undefined,
  );
  const nodes = files.data?.nodes.length ?? 0;
  useEffect(() => setMany(nodes > FEW_NODES), [nodes]);
  const regex = settings.mode === 'regex';
  const mine = settings.files === 'all' ? 'all' : 'users';
  const set = (changed: Parameters<typeof withSettings>[1]) =>
    change((before) => withSettings(before, changed));
  const open = (chosen: Pick<LogFile, 'node_id' | 'name'>, line?: number) =>
    set({
      node: chosen.node_id,
      file: chosen.name,
      line: line === undefined ? undefined : String(line),
      from: undefined,
      find: undefined,
      level: undefined,
    });
  const has = (files.data?.total ?? 0) + (hidesEmpty ? (files.data?.empty ?? 0) : 0);
  const results = search !== undefined && file === undefined;
  return (
    <div className={layout.view}>
      <Toolbar>
        <TextInput
          size="xs"
          className={css.search}
          placeholder={t('logs.searchAll')}
          aria-label={t('logs.searchAll')}
          leftSection={<IconSearch size={14} />}
          value={text}
          maxLength={300}
          onChange={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === 'Enter') set({ search: text || undefined, file: undefined, line: undefined });
            if (event.key === 'Escape') {
              event.stopPropagation();
              setText('');
              set({ search: undefined });
            }
          }}
          data-testid="logs-search"
        />
        <Checkbox
          size="xs"
          label={t('logs.regex')}
          title={t('logs.regexHint')}
          checked={regex}
          onChange={(event) => set({ mode: event.currentTarget.checked ? 'regex' : undefined })}
        />
        {search !== undefined && file !== undefined && (
          <button
            type="button"
            className={words.link}
            onClick={() => set({ file: undefined, line: undefined, from: undefined })}
            data-testid="logs-back"
          >
            {t('logs.backToHits')}
          </button>
        )}
      </Toolbar>
      {files.data === undefined ? (
        files.error !== null ? (
          <ErrorPanel error={files.error} onRetry={() => void files.refetch()} />
        ) : (
          <p className={`${words.line} ${words.dim} ${shared.foot}`}>{t('logs.loading')}</p>
        )
      ) : (
        <div className={`${layout.viewBody} ${css.body}`}>
          <FileTree
            files={files.data}
            node={node}
            file={file}
            filter={filter}
            onFilter={setFilter}
            mine={mine}
            onMine={(which) => set({ files: which === 'all' ? 'all' : undefined })}
            hidesEmpty={hidesEmpty}
            onHideEmpty={(hide) => set({ hide: hide ? undefined : 'none' })}
            onNode={(chosen) => set({ node: chosen })}
            onFile={open}
          />
          {node !== undefined && file !== undefined ? (
            <FileView
              key={`${node}/${file}`}
              node={node}
              file={file}
              about={files.data.files.find((each) => each.node_id === node && each.name === file)}
            />
          ) : results ? (
            <SearchResults search={search} regex={regex} level={settings.level} onOpen={open} />
          ) : (
            <div className={layout.viewMain}>
              <EmptyState
                icon={<IconFileText size={26} />}
                title={t(files.data.nodes.length === 0 || has === 0 ? 'logs.none' : 'logs.choose')}
              >
                {t(has > 0 ? 'logs.chooseText' : files.data.live ? 'logs.noneLive' : 'logs.noneEnded')}
              </EmptyState>
            </div>
          )}
        </div>
      )}
    </div>
  );
}
