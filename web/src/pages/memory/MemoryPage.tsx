import { Box, Loader, SegmentedControl, Select } from '@mantine/core';
import { IconMoodEmpty } from '@tabler/icons-react';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { refreshInterval } from '../../api/connection';
import { answerTo } from '../../api/queries';
import type { StoreOfNode } from '../../api/schema';
import { bytes, count, time } from '../../base/format';
import { withSettings } from '../../base/url';
import { Section } from '../../ui/Drawer';
import { EmptyState } from '../../ui/EmptyState';
import { ErrorPanel } from '../../ui/ErrorPanel';
import { usePlaceFilters } from '../../ui/FilterBar';
import { ItemLink } from '../../ui/ItemLink';
import { ShareBar } from '../../ui/ShareBar';
import { Toolbar } from '../../ui/Toolbar';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import { MemoryCharts } from './MemoryCharts';
import css from './MemoryPage.module.css';
import { GroupTable, ObjectTable, SuspectTable } from './MemoryTables';
import { ObjectPanel } from './ObjectPanel';
import { GROUPINGS, type Grouping, REFERENCE_TYPES } from './types';

/**
 * Maximum number of nodes of a cluster whose readings the server keeps (`MAX_NODES` in
 * cluster/objects/readings.py).
 */
const KEPT_NODES = 16;
/** Choices of the minimum age of suspected leaks, s. */
const AGES = ['60', '600', '3600', '14400'];

/** Usage of the object stores: by holder, now or at the last reading, and over time. */
export default function MemoryPage() {
  const [url, change] = useSessionUrl();
  const { t } = useTranslation();
  const by = GROUPINGS.find((name) => name === url.settings?.by) ?? 'function';
  const age = AGES.find((seconds) => seconds === url.settings?.span) ?? '600';
  const { type, node_id, job_id } = url.filters;
  const params = { session: url.session, by, type, node_id, job_id, older_than_s: age };
  const memory = useQuery({
    ...answerTo('/memory', params),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => refreshInterval(state.data?.state === 'being_read' ? 1_500 : 10_000),
  });
  const types = REFERENCE_TYPES.map((name) => ({ value: name, label: t(`memory.types.${name}`) }));
  const fields = [{ name: 'type' as const, label: t('memory.type'), choices: types }, ...usePlaceFilters()];
  const answer = memory.data;
  if (memory.error !== null && answer === undefined)
    return <ErrorPanel error={memory.error} onRetry={() => void memory.refetch()} />;
  if (answer === undefined) return <Loader size="sm" m="md" aria-label={t('nav.memory')} />;
  if (answer.totals === null) {
    return (
      <div className={css.memory}>
        <p className={css.note} role="status">
          {t('memory.ended', { n: KEPT_NODES })}
        </p>
        <p className={css.note}>{t('memory.explain')}</p>
        <MemoryCharts />
      </div>
    );
  }
  const totals = answer.totals;
  const opened = answer.objects.find((object) => object.object_id === url.item);
  return (
    <>
      <Toolbar
        fields={fields}
        options={
          <SegmentedControl
            size="xs"
            aria-label={t('memory.by')}
            data={GROUPINGS.map((name) => ({ value: name, label: t(`memory.groupings.${name}`) }))}
            value={by}
            onChange={(value) =>
              change((before) => withSettings(before, { by: value === 'function' ? undefined : value }))
            }
            data-testid="memory-by"
          />
        }
        count={
          <span className={`${words.dim} ${words.num} ${words.small}`}>
            {answer.time_ns !== null && t('memory.asOf', { time: time(answer.time_ns) })}
          </span>
        }
      />
      <div className={css.memory} data-testid="memory">
        {!answer.live && answer.time_ns !== null && (
          <p className={css.note} role="status" data-testid="memory-last">
            {t('memory.lastReading', { time: time(answer.time_ns) })}
          </p>
        )}
        <p className={css.note}>{t('memory.explain')}</p>
        <MemoryCharts />
        {answer.live && answer.nodes.length > KEPT_NODES && (
          <p className={css.note}>{t('memory.tooLarge', { n: KEPT_NODES })}</p>
        )}
        {answer.state === 'being_read' && (
          <p className={css.note} role="status" data-testid="memory-reading">
            <Loader size={12} mr={8} />
            {t('memory.reading', {
              read: count(answer.nodes.length - answer.nodes_waiting),
              total: count(answer.nodes.length),
            })}
          </p>
        )}
        {answer.references_read < answer.references_total && (
          <p className={css.note} role="status">
            {t('memory.truncated', {
              read: count(answer.references_read),
              total: count(answer.references_total),
            })}
          </p>
        )}
        <Section title={t('memory.stores')}>
          <div className={css.stores}>
            {answer.nodes
              .filter((store) => !store.waiting)
              .map((store) => (
                <StoreBar key={store.node_id} store={store} />
              ))}
          </div>
        </Section>
        <Section
          title={t(`memory.grouped.${by}`)}
          right={
            <span className={`${words.num} ${words.dim}`}>
              {t('memory.summary', {
                objects: count(totals.objects),
                bytes: bytes(totals.bytes),
                references: count(totals.references),
              })}
              {totals.unknown_size > 0 && ` (${t('memory.unknown', { n: count(totals.unknown_size) })})`}
            </span>
          }
        >
          {by === 'call_site' && !answer.call_sites && <p className={css.note}>{t('memory.noCallSites')}</p>}
          {answer.groups.length === 0 ? (
            <EmptyState icon={<IconMoodEmpty size={26} />} title={t('memory.none')} />
          ) : (
            <GroupTable memory={answer} by={by as Grouping} />
          )}
        </Section>
        <Section
          title={t('memory.suspects')}
          right={
            <Select
              size="xs"
              w={130}
              aria-label={t('memory.olderThan')}
              allowDeselect={false}
              data={AGES.map((seconds) => ({
                value: seconds,
                label:
                  Number(seconds) < 3600
                    ? t('memory.minutes', { n: Number(seconds) / 60 })
                    : t('memory.hours', { n: Number(seconds) / 3600 }),
              }))}
              value={age}
              onChange={(value) =>
                change((before) =>
                  withSettings(before, { span: value === '600' ? undefined : (value ?? undefined) }),
                )
              }
            />
          }
        >
          <p className={css.note}>{t('memory.suspectsText')}</p>
          {answer.suspects.length === 0 ? (
            <Box component="p" className={words.dim} my={6}>
              {t('memory.noSuspects')}
            </Box>
          ) : (
            <SuspectTable suspects={answer.suspects} />
          )}
        </Section>
        {answer.objects.length > 0 && (
          <Section title={t('memory.largest')}>
            <ObjectTable objects={answer.objects} />
          </Section>
        )}
      </div>
      {opened !== undefined && (
        <ObjectPanel object={opened} onClose={() => change((before) => ({ ...before, item: undefined }))} />
      )}
    </>
  );
}

function StoreBar({ store }: { store: StoreOfNode }) {
  const { t } = useTranslation();
  const used = store.used_bytes ?? 0;
  // What Ray calls "available" is the capacity of the whole store.
  const all = store.available_bytes ?? 0;
  const share = all > 0 ? used / all : 0;
  const notes = [
    store.primary_bytes !== null && t('memory.primary', { bytes: bytes(store.primary_bytes) }),
    (store.spilled_bytes_total ?? 0) > 0 && t('memory.spilled', { bytes: bytes(store.spilled_bytes_total) }),
    (store.fallback_bytes ?? 0) > 0 && t('memory.fallback', { bytes: bytes(store.fallback_bytes) }),
  ].filter((note) => note !== false);
  return (
    <div className={css.store} data-testid="memory-store">
      <ItemLink view="nodes" id={store.node_id} />
      {store.error !== null ? (
        <span className={css.bad}>{t('memory.noAnswer', { error: store.error })}</span>
      ) : (
        <>
          <ShareBar share={Math.min(1, share)} color={share > 0.9 ? 'var(--rs-tone-bad)' : undefined} />
          <span className={words.num}>{t('memory.used', { used: bytes(used), all: bytes(all) })}</span>
          <span className={`${words.num} ${words.dim}`}>{notes.join(' · ')}</span>
        </>
      )}
    </div>
  );
}
