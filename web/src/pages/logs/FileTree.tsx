import { Select, TextInput } from '@mantine/core';
import { IconFilter, IconServer2 } from '@tabler/icons-react';
import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useMemo, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import type { LogFile, LogFilesAnswer, LogNode } from '../../api/schema';
import { bytes, count, shortId, time } from '../../base/format';
import { nodeTitle } from '../../base/nodeTitle';
import { Dot } from '../../ui/Dot';
import { fileDetails, fileTitle } from '../../ui/logs/fileName';
import layout from '../../ui/theme/layout.module.css';
import words from '../../ui/theme/words.module.css';
import { useServerMessage } from '../../ui/useServerMessage';
import css from './FileTree.module.css';
import shared from './logs.module.css';

const NODE_ROW = 32;
const FILE_ROW = 40;
const USERS = new Set(['worker_out', 'worker_err', 'driver', 'serve_replica']);

type Row = { node: LogNode; file?: undefined } | { node: LogNode; file: LogFile };

/**
 * The nodes and their files. On large clusters, only the files of the chosen node, or those that match the
 * filter, are loaded.
 */
export function FileTree(props: {
  files: LogFilesAnswer;
  node?: string;
  file?: string;
  filter: string;
  onFilter: (text: string) => void;
  mine: 'users' | 'all';
  onMine: (which: 'users' | 'all') => void;
  hidesEmpty: boolean;
  onHideEmpty: (hide: boolean) => void;
  onNode: (node: string) => void;
  onFile: (file: LogFile) => void;
}) {
  const { files, filter, mine, hidesEmpty } = props;
  const { t } = useTranslation();
  const translate = useServerMessage();
  const scroller = useRef<HTMLDivElement>(null);
  const rows = useMemo<Row[]>(() => {
    const wanted = filter.trim().toLowerCase();
    const of = new Map<string, LogFile[]>();
    for (const file of files.files) {
      if (mine === 'users' && !USERS.has(file.kind)) continue;
      const searchable = [fileTitle(t, file), ...fileDetails(t, file), ...file.functions, file.name].join(
        ' ',
      );
      if (wanted !== '' && !searchable.toLowerCase().includes(wanted)) continue;
      const known = of.get(file.node_id);
      if (known === undefined) of.set(file.node_id, [file]);
      else known.push(file);
    }
    return files.nodes
      .filter((node) => wanted === '' || of.has(node.node_id))
      .flatMap((node) => [{ node }, ...(of.get(node.node_id) ?? []).map((file) => ({ node, file }))]);
  }, [files, filter, mine, t]);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: (at) => (rows[at]?.file === undefined ? NODE_ROW : FILE_ROW),
    overscan: 10,
    getItemKey: (at) => `${rows[at]?.node.node_id}/${rows[at]?.file?.name ?? ''}`,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: nodes and files have different heights.
  useEffect(() => virtual.measure(), [rows]);
  const chosen = rows.findIndex(
    (row) => row.file !== undefined && row.file.name === props.file && row.node.node_id === props.node,
  );
  const was = useRef<string | undefined>(undefined);
  useEffect(() => {
    const key = `${props.node}/${props.file}`;
    if (chosen < 0 || was.current === key) return;
    was.current = key;
    virtual.scrollToIndex(chosen, { align: 'auto' });
  }, [chosen, props.node, props.file, virtual]);
  return (
    <div className={css.left}>
      <div className={css.tools}>
        <TextInput
          size="xs"
          placeholder={t('logs.filter')}
          aria-label={t('logs.filter')}
          leftSection={<IconFilter size={14} />}
          value={filter}
          onChange={(event) => props.onFilter(event.currentTarget.value)}
          data-testid="logs-filter"
        />
        <Select
          size="xs"
          w={112}
          aria-label={t('logs.which')}
          value={mine}
          allowDeselect={false}
          data={[
            { value: 'users', label: t('logs.users') },
            { value: 'all', label: t('logs.all') },
          ]}
          onChange={(value) => props.onMine(value === 'all' ? 'all' : 'users')}
          data-testid="logs-which"
        />
      </div>
      <div ref={scroller} className={layout.scroll} data-testid="logs-files">
        <div style={{ height: virtual.getTotalSize(), position: 'relative' }}>
          {virtual.getVirtualItems().map((item) => {
            const row = rows[item.index];
            if (row === undefined) return null;
            const style = { height: item.size, transform: `translateY(${item.start}px)` };
            return row.file === undefined ? (
              <NodeRow key={item.key} node={row.node} live={files.live} style={style} onNode={props.onNode} />
            ) : (
              <FileRow
                key={item.key}
                file={row.file}
                style={style}
                current={item.index === chosen}
                onFile={props.onFile}
              />
            );
          })}
        </div>
        {rows.length === 0 && (
          <p className={`${words.line} ${words.dim} ${shared.foot}`}>{t('logs.noFiles')}</p>
        )}
      </div>
      <div className={`${shared.foot} ${words.dim}`} data-testid="logs-keeping">
        {files.empty > 0 && (
          <div>
            {hidesEmpty && <>{t('logs.silent', { n: count(files.empty) })} · </>}
            <button
              type="button"
              className={words.link}
              onClick={() => props.onHideEmpty(!hidesEmpty)}
              data-testid="logs-empty"
            >
              {hidesEmpty ? t('logs.showEmpty') : t('logs.hideEmpty', { n: count(files.empty) })}
            </button>
          </div>
        )}
        {files.left_out > 0 && <div>{t('logs.filesLeftOut', { n: count(files.left_out) })}</div>}
        <div title={t(`logs.keepingHint.${files.keeping.mode}`)}>
          {files.keeping.mode === 'none'
            ? t('logs.keeping.none')
            : t(`logs.keeping.${files.keeping.mode}`, {
                size: bytes(files.keeping.bytes),
                max: bytes(files.keeping.max_bytes),
              })}
        </div>
        {files.keeping.error && <div>{translate(files.keeping.error).message}</div>}
      </div>
    </div>
  );
}

function NodeRow(props: {
  node: LogNode;
  /** Whether the cluster is alive. */
  live: boolean;
  style: React.CSSProperties;
  onNode: (node: string) => void;
}) {
  const { node } = props;
  const { t } = useTranslation();
  const translate = useServerMessage();
  const ended = node.state === 'ALIVE' && !props.live;
  const alive = node.state === 'ALIVE' && props.live;
  return (
    <button
      type="button"
      className={css.row}
      data-node
      style={props.style}
      onClick={() => props.onNode(node.node_id)}
      title={node.problem ? `${node.node_id}\n${translate(node.problem).message}` : node.node_id}
    >
      <IconServer2 size={14} aria-hidden />
      <span className={`${words.ellipsis} ${css.file}`}>
        {nodeTitle(node)} <span className={words.dim}>{shortId(node.node_id)}</span>
      </span>
      <span className={`${words.state} ${css.size} ${words.dim}`} title={node.state ?? undefined}>
        <Dot color={`var(--rs-tone-${alive ? 'good' : 'quiet'})`} />
        {ended
          ? t('logs.ended')
          : node.is_head && alive
            ? t('logs.head')
            : t(alive ? 'logs.alive' : 'logs.dead')}
      </span>
    </button>
  );
}

function FileRow(props: {
  file: LogFile;
  style: React.CSSProperties;
  current: boolean;
  onFile: (file: LogFile) => void;
}) {
  const { file } = props;
  const { t } = useTranslation();
  return (
    <button
      type="button"
      className={css.row}
      style={props.style}
      aria-current={props.current || undefined}
      onClick={() => props.onFile(file)}
      title={file.name}
      data-testid="logs-file"
      data-name={file.name}
    >
      <span className={css.file}>
        <span className={`${words.ellipsis} ${css.name}`}>{fileTitle(t, file)}</span>
        <span className={`${words.ellipsis} ${css.sub} ${words.dim}`}>
          {[...fileDetails(t, file), ...(file.last_ns === null ? [] : [time(file.last_ns)])].join(' · ')}
        </span>
      </span>
      <span
        className={`${words.num} ${words.dim} ${css.size}`}
        title={t('logs.keptOf', { size: bytes(file.kept) })}
      >
        {bytes(file.size)}
        {!file.live && ` · ${t('logs.kept')}`}
      </span>
    </button>
  );
}
