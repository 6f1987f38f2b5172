import { type ReactNode, useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { NodeDetail } from '../../api/schema';
import { bytes, count } from '../../base/format';
import { Field, Fields, Section } from '../../ui/Drawer';
import { LaneName } from '../../ui/Lane';
import { ofText } from '../../ui/Meter';
import { Time } from '../../ui/Time';
import words from '../../ui/theme/words.module.css';
import { isEmpty, Value } from '../../ui/Value';

/** The tab with all fields that Ray and the node report. */
export function NodeAbout({ node }: { node: NodeDetail }) {
  const { t, i18n } = useTranslation();
  const { measured } = node;
  const name = (field: string) =>
    i18n.exists(`field.${field}`) ? t(`field.${field}` as 'field.state') : field.replaceAll('_', ' ');
  const fields = useMemo<[string, ReactNode][]>(() => {
    const plain = [
      'node_id',
      'node_name',
      'hostname',
      'node_ip',
      'instance_id',
      'instance_type',
      'labels',
      'resources_total',
      'metrics_export_port',
      'dashboard_agent_port',
      'start_ns',
      'end_ns',
      'death_reason',
      'death_message',
    ];
    const record = node as unknown as Record<string, unknown>;
    return plain
      .filter((field) => !isEmpty(record[field]))
      .map((field) => [field, <Value key={field} name={field} value={record[field]} />]);
  }, [node]);
  return (
    <Section title={t('entity.fields')}>
      <Fields>
        <Field name={name('lane')} hint="lane">
          <LaneName lane={node.lane} code={node.lane_code} reason={node.lane_reason} whole />
        </Field>
        {fields.map(([field, value]) => (
          <Field key={field} name={name(field)} hint={field}>
            {value}
          </Field>
        ))}
        {measured !== null && (
          <>
            {measured.cpus !== null && (
              <Field name={t('nodes.cpu')}>{t('nodes.cores', { n: count(measured.cpus) })}</Field>
            )}
            {measured.load.length > 0 && (
              <Field name={t('nodes.load')}>
                <span className={words.num}>{measured.load.map((one) => one.toFixed(2)).join(' · ')}</span>
              </Field>
            )}
            {measured.boot_ns !== null && (
              <Field name={t('nodes.boot')}>
                <Time ns={measured.boot_ns} full />
              </Field>
            )}
            {measured.shm_bytes !== null && <Field name={t('nodes.shm')}>{bytes(measured.shm_bytes)}</Field>}
            {measured.swap_total_bytes !== null && (
              <Field name={t('nodes.swap')}>
                {ofText(measured.swap_used_bytes, measured.swap_total_bytes)}
              </Field>
            )}
          </>
        )}
      </Fields>
    </Section>
  );
}
