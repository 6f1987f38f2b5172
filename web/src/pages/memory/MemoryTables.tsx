import { Box } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { Group, HeldObject, MemoryAnswer, Suspect } from '../../api/schema';
import { bytes, count, shortId } from '../../base/format';
import { toItem, toView } from '../../base/url';
import { Dash } from '../../ui/Dash';
import { Duration } from '../../ui/Duration';
import { ItemLink } from '../../ui/ItemLink';
import { Link } from '../../ui/Link';
import { ShareBar } from '../../ui/ShareBar';
import library from '../../ui/theme/library.module.css';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import css from './MemoryTables.module.css';
import type { Grouping, Process, ReferenceType } from './types';

/** Memory by group, largest first. */
export function GroupTable({ memory, by }: { memory: MemoryAnswer; by: Grouping }) {
  const { t } = useTranslation();
  const all = memory.totals?.bytes ?? 0;
  const more = memory.groups_total - memory.groups.length;
  return (
    <div className={library.scroll}>
      <table className={`${library.table} ${css.table}`} data-testid="memory-groups">
        <thead>
          <tr>
            <th>{t(`memory.groupings.${by}`)}</th>
            <th>{t('memory.share')}</th>
            <th data-number>{t('memory.bytes')}</th>
            <th data-number>{t('memory.objects')}</th>
            <th data-number>{t('memory.references')}</th>
            <th>{t('memory.held')}</th>
          </tr>
        </thead>
        <tbody>
          {memory.groups.map((group) => (
            <tr key={`${group.key} ${group.is_put} ${group.pid}`} data-testid="memory-group">
              <td>
                <GroupName group={group} by={by} />
              </td>
              <td className={css.share}>
                <ShareBar share={all > 0 ? group.bytes / all : 0} />
              </td>
              <td data-number>{group.unknown_size === group.objects ? <Dash /> : bytes(group.bytes)}</td>
              <td data-number>{count(group.objects)}</td>
              <td data-number>{count(group.references)}</td>
              <td className={words.dim}>
                <Types types={group.types} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {more > 0 && (
        <Box component="p" className={words.dim} my={6}>
          {t('memory.more', { n: count(more) })}
        </Box>
      )}
    </div>
  );
}

function GroupName({ group, by }: { group: Group; by: Grouping }) {
  const { t } = useTranslation();
  if (by === 'function') return <FunctionName name={group.key} isPut={group.is_put === true} />;
  if (group.key === null) return <span className={words.dim}>{t('memory.nobody')}</span>;
  if (by === 'type') return t(`memory.types.${group.key as ReferenceType}`);
  if (by === 'node') return <ItemLink view="nodes" id={group.key} />;
  if (by === 'job') return <ItemLink view="jobs" id={group.key} />;
  if (by === 'process') {
    return (
      <ProcessName
        of={{
          node_id: group.node_id ?? '',
          worker_id: group.key,
          pid: group.pid ?? 0,
          is_driver: group.is_driver === true,
          actor_id: group.actor_id ?? null,
        }}
      />
    );
  }
  return <span className={css.site}>{group.key}</span>;
}

export function FunctionName({ name, isPut }: { name: string | null; isPut: boolean }) {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  if (name === null) return <span className={words.dim}>{t('memory.nobody')}</span>;
  const text = name === 'driver' ? t('memory.driver') : name;
  const shown = isPut ? t('memory.put', { name: text }) : text;
  return name === 'driver' ? (
    <span className={css.driver}>{shown}</span>
  ) : (
    <Link to={toView(url, 'tasks', { func_name: name })}>{shown}</Link>
  );
}

export function ProcessName({ of }: { of: Process }) {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  const kind = t(of.is_driver ? 'memory.driver' : of.actor_id ? 'memory.actor' : 'memory.worker');
  const text = `${kind} ${of.pid}`;
  return (
    <Link
      to={of.actor_id ? toItem(url, 'actors', of.actor_id) : toItem(url, 'workers', of.worker_id)}
      title={of.actor_id ?? of.worker_id}
    >
      {text}
    </Link>
  );
}

function Types({ types }: { types: Partial<Record<ReferenceType, number>> }) {
  const { t } = useTranslation();
  const names = Object.entries(types) as [ReferenceType, number][];
  return names.map(([name, n]) => `${t(`memory.types.${name as ReferenceType}`)} ${count(n)}`).join(' · ');
}

/** Objects that one process has held for a long time, i.e. suspected leaks. */
export function SuspectTable({ suspects }: { suspects: Suspect[] }) {
  const { t } = useTranslation();
  return (
    <div className={library.scroll}>
      <table className={`${library.table} ${css.table}`} data-testid="memory-suspects">
        <thead>
          <tr>
            <th>{t('memory.groupings.function')}</th>
            <th>{t('memory.holders')}</th>
            <th data-number>{t('memory.bytes')}</th>
            <th data-number>{t('memory.objects')}</th>
            <th data-number>{t('memory.oldest')}</th>
            <th>{t('memory.held')}</th>
          </tr>
        </thead>
        <tbody>
          {suspects.map((row) => (
            <tr key={`${row.function} ${row.is_put} ${row.worker_id} ${row.pid}`}>
              <td>
                <FunctionName name={row.function} isPut={row.is_put} />
              </td>
              <td>
                <ProcessName of={{ ...row, is_driver: false, actor_id: null }} />
              </td>
              <td data-number>{bytes(row.bytes)}</td>
              <td data-number>{count(row.objects)}</td>
              <td data-number>
                <Duration ns={row.oldest_ns} />
              </td>
              <td className={words.dim}>
                <Types types={row.types} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The largest objects and their holders. */
export function ObjectTable({ objects }: { objects: HeldObject[] }) {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  return (
    <div className={library.scroll}>
      <table className={`${library.table} ${css.table}`} data-testid="memory-objects">
        <thead>
          <tr>
            <th>{t('memory.object')}</th>
            <th>{t('memory.groupings.function')}</th>
            <th data-number>{t('memory.bytes')}</th>
            <th data-number>{t('memory.age')}</th>
            <th>{t('memory.held')}</th>
            <th>{t('memory.holders')}</th>
          </tr>
        </thead>
        <tbody>
          {objects.map((object) => (
            <tr key={object.object_id}>
              <td>
                <Link to={{ ...url, item: object.object_id }} title={object.object_id} testId="memory-object">
                  <span className={words.mono}>{shortId(object.object_id)}</span>
                </Link>
              </td>
              <td title={object.call_site ?? undefined}>
                <FunctionName name={object.function} isPut={object.is_put === true} />
              </td>
              <td data-number>{object.bytes === null ? <Dash /> : bytes(object.bytes)}</td>
              <td data-number>{object.age_ns === null ? <Dash /> : <Duration ns={object.age_ns} />}</td>
              <td className={words.dim}>
                {object.types.map((name) => t(`memory.types.${name as ReferenceType}`)).join(' · ')}
              </td>
              <td>
                <span className={css.holders}>
                  {object.holders.slice(0, 3).map((holder) => (
                    <ProcessName key={`${holder.worker_id} ${holder.type}`} of={holder} />
                  ))}
                  {object.holders_total > 3 && (
                    <span className={words.dim}>
                      {t('memory.andMore', { n: count(object.holders_total - 3) })}
                    </span>
                  )}
                </span>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
