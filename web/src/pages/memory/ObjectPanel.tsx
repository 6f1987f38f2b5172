import { Loader } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { refreshInterval } from '../../api/connection';
import { answerTo } from '../../api/queries';
import type { HeldObject } from '../../api/schema';
import { bytes, shortId } from '../../base/format';
import { CopyId } from '../../ui/CopyId';
import { Dash } from '../../ui/Dash';
import { Drawer, Field, Fields, Section } from '../../ui/Drawer';
import { Duration } from '../../ui/Duration';
import { ErrorPanel } from '../../ui/ErrorPanel';
import { ItemLink } from '../../ui/ItemLink';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import { FunctionName, ProcessName } from './MemoryTables';

/** An object: its details, its holders, and the nodes that currently have a copy. */
export function ObjectPanel({ object, onClose }: { object: HeldObject; onClose: () => void }) {
  const { t } = useTranslation();
  return (
    <Drawer
      testId="object-panel"
      title={t('memory.objectOf', { id: shortId(object.object_id) })}
      subtitle={<CopyId id={object.object_id} />}
      onClose={onClose}
    >
      <Section title={t('memory.copies')} testId="object-copies">
        <Copies id={object.object_id} />
      </Section>
      <Section title={t('entity.fields')}>
        <Fields>
          <Field name={t('memory.groupings.function')}>
            <FunctionName name={object.function} isPut={object.is_put === true} />
          </Field>
          <Field name={t('memory.bytes')}>{object.bytes === null ? <Dash /> : bytes(object.bytes)}</Field>
          <Field name={t('memory.age')}>
            {object.age_ns === null ? <Dash /> : <Duration ns={object.age_ns} />}
          </Field>
          <Field name={t('memory.groupings.call_site')}>{object.call_site ?? <Dash />}</Field>
          <Field name={t('memory.holders')}>
            <ul>
              {object.holders.map((holder) => (
                <li key={`${holder.worker_id} ${holder.type}`}>
                  <ProcessName of={holder} />
                </li>
              ))}
            </ul>
          </Field>
        </Fields>
      </Section>
    </Drawer>
  );
}

/** The nodes that have a copy. The owner is queried when the panel opens and then every 10 s. */
function Copies({ id }: { id: string }) {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  const { data, error, refetch } = useQuery({
    ...answerTo('/memory/objects/{object_id}', { object_id: id, session: url.session }),
    refetchInterval: () => refreshInterval(10_000),
  });
  if (data === undefined)
    return error === null ? (
      <Loader size="xs" aria-label={t('memory.copies')} />
    ) : (
      <ErrorPanel error={error} onRetry={() => void refetch()} />
    );
  if (data.problem !== null) return <p className={words.dim}>{t(`memory.noCopies.${data.problem}`)}</p>;
  const isInside = data.nodes.length === 0 && !data.is_spilled && !data.is_pending;
  return (
    <>
      <ul data-testid="object-nodes">
        {data.nodes.map((node) => (
          <li key={node}>
            <ItemLink view="nodes" id={node} full />
          </li>
        ))}
      </ul>
      {data.is_pending && <p className={words.dim}>{t('memory.pending')}</p>}
      {data.is_spilled && (
        <p className={words.dim}>
          {t('memory.spilledTo')}{' '}
          {data.spilled_node_id !== null && <ItemLink view="nodes" id={data.spilled_node_id} />}
        </p>
      )}
      {isInside && <p className={words.dim}>{t('memory.inside')}</p>}
    </>
  );
}
