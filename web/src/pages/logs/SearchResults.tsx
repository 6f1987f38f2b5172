import { Loader } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import { Fragment } from 'react';
import { useTranslation } from 'react-i18next';
import type { LogSearchAnswer } from '../../api/schema';
import { bytes, count, shortId, time } from '../../base/format';
import { EmptyState } from '../../ui/EmptyState';
import { ErrorPanel } from '../../ui/ErrorPanel';
import { Link } from '../../ui/Link';
import { fileDetails, fileTitle } from '../../ui/logs/fileName';
import { marked, searchOf } from '../../ui/logs/lines';
import layout from '../../ui/theme/layout.module.css';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import shared from './logs.module.css';
import css from './SearchResults.module.css';
import { useLogSearch } from './useLogFile';

const WHY = ['gone', 'long', 'stopped', 'not_kept'] as const;

/** The matching lines of all files, grouped by file, and a note on files that were not searched. */
export function SearchResults(props: {
  search: string;
  regex: boolean;
  level?: string;
  onOpen: (file: { node_id: string; name: string }, line: number) => void;
}) {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  const found = useLogSearch(url.session, props.search, props.regex, props.level, url.filters);
  const { data } = found;
  if (data === undefined)
    return (
      <div className={layout.viewMain}>
        {found.error !== null ? (
          <ErrorPanel error={found.error} onRetry={() => void found.refetch()} />
        ) : (
          <p className={shared.state}>
            <Loader size={12} /> {t('logs.searching')}
          </p>
        )}
      </div>
    );
  const marks = searchOf(props.search, props.regex);
  const left = WHY.map((why) => {
    const those = data.not_searched.filter((each) => each.why === why);
    return { why, files: those.length, size: those.reduce((sum, each) => sum + each.bytes, 0) };
  }).filter((each) => each.files > 0);
  return (
    <div className={layout.viewMain} data-testid="logs-hits">
      <div className={`${css.summary} ${words.num}`}>
        {t('logs.hits', {
          n: count(data.items.length),
          files: count(data.searched.files),
          of: count(data.searched.of),
          size: bytes(data.searched.bytes),
        })}
        {left.map(({ why, files, size }) => (
          <span key={why}> {t(`logs.notSearched.${why}`, { files: count(files), size: bytes(size) })}</span>
        ))}
      </div>
      {data.items.length === 0 ? (
        <EmptyState icon={<IconSearch size={26} />} title={t('logs.noHits')} />
      ) : (
        <div className={`${layout.scroll} ${css.hits}`}>
          {byFile(data).map(({ file, hits }) => (
            <section key={`${file.node_id}/${file.name}`}>
              <h3 title={file.name}>
                <span className={words.ellipsis}>{fileTitle(t, file)}</span>
                <span className={`${words.dim} ${words.ellipsis} ${words.num}`}>
                  {[
                    ...fileDetails(t, file),
                    time(file.last_ns),
                    t('logs.hitCount', { n: count(hits.length) }),
                  ].join(' · ')}
                </span>
              </h3>
              {byAttempt(hits).map(({ first, lines }) => (
                <Fragment key={first.offset}>
                  {first.task_id !== null && (
                    <Link
                      to={{ ...url, task: first.task_id, attempt: first.attempt ?? undefined }}
                      className={`${words.link} ${css.task}`}
                    >
                      {first.func_name || t('common.unknown')}{' '}
                      <span className={words.mono}>{shortId(first.task_id)}</span>
                    </Link>
                  )}
                  {lines.map((hit) => (
                    <button
                      key={hit.offset}
                      type="button"
                      className={css.hit}
                      data-level={hit.level ?? undefined}
                      onClick={() => props.onOpen(hit, hit.offset)}
                      title={hit.text}
                      data-testid="logs-hit"
                    >
                      {marked(hit.text, marks).map(([text, is], at) =>
                        // biome-ignore lint/suspicious/noArrayIndexKey: parts of one text have no other name.
                        is ? <mark key={at}>{text}</mark> : <span key={at}>{text}</span>,
                      )}
                    </button>
                  ))}
                </Fragment>
              ))}
            </section>
          ))}
        </div>
      )}
    </div>
  );
}

/** Groups the hits by file. Files are in the order of their first hit. */
function byFile(found: LogSearchAnswer) {
  const keyOf = (one: { node_id: string; name: string }) => `${one.node_id}/${one.name}`;
  const files = new Map(
    found.files.map((file) => [keyOf(file), { file, hits: [] as LogSearchAnswer['items'] }]),
  );
  for (const hit of found.items) files.get(keyOf(hit))?.hits.push(hit);
  return [...files.values()];
}

/** Groups consecutive hits that were printed by the same attempt. */
function byAttempt(hits: LogSearchAnswer['items']) {
  const runs: { first: LogSearchAnswer['items'][number]; lines: LogSearchAnswer['items'] }[] = [];
  for (const hit of hits) {
    const last = runs.at(-1);
    if (last?.first.task_id === hit.task_id && last.first.attempt === hit.attempt) last.lines.push(hit);
    else runs.push({ first: hit, lines: [hit] });
  }
  return runs;
}
