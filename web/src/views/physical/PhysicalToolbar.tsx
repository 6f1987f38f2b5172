import { Group } from '@mantine/core';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { count } from '../../base/format';
import { InternalSwitch } from '../../ui/InternalSwitch';
import words from '../../ui/theme/words.module.css';
import { FindBox } from '../shared/FindBox';
import panels from '../shared/panels.module.css';
import { useMoment } from '../shared/useMoment';
import { PhysicalChoice } from './PhysicalChoice';
import {
  COLORS,
  type Found,
  MEASURED_NAMES,
  type Physical,
  resourcesOf,
  SIZE_BYTES,
  SIZE_EQUAL,
} from './physical';

/** Choices of the period for which transfers are shown, which ends at the shown time, s. */
export const SPANS = ['10', '60', '600', '3600'] as const;

/** Display options of the cluster: size, colour, order, arrows, and the search. */
export function PhysicalToolbar({ data, found }: { data: Physical | undefined; found: Found | null }) {
  const { settings, set } = useMoment();
  const { t } = useTranslation();
  const size = settings.size ?? 'CPU';
  const span = SPANS.find((one) => one === settings.span);
  const showsArrows = settings.span !== 'off';
  const showsInternal = settings.internal === 'show';
  const resources = useMemo(() => (data === undefined ? [] : resourcesOf(data)), [data]);
  const internal = (data?.nodes ?? []).reduce((sum, one) => sum + one.internal, 0);
  return (
    <div className={panels.bar}>
      <span className={words.num} data-testid="physical-count">
        {data === undefined
          ? t('physical.loading')
          : t('physical.count', {
              nodes: count(data.nodes_total),
              workers: count(data.workers_total - (showsInternal ? 0 : internal)),
            })}
      </span>
      <InternalSwitch hidden={internal} />
      <Group gap={6} ml={{ base: 0, md: 'auto' }}>
        <PhysicalChoice
          name="size"
          value={size}
          fallback="CPU"
          onChange={(value) => set({ size: value })}
          options={[
            ...resources.map((name) => ({ value: name, label: t('physical.sizeOf', { what: name }) })),
            { value: SIZE_BYTES, label: t('physical.sizeOf', { what: t('physical.sizeBytes') }) },
            { value: SIZE_EQUAL, label: t('physical.sizeOf', { what: t('physical.sizeEqual') }) },
          ]}
        />
        <PhysicalChoice
          name="color"
          value={settings.color ?? 'function'}
          fallback="function"
          onChange={(value) => set({ color: value })}
          options={[
            ...COLORS.map((by) => ({
              value: by,
              label: t('physical.colorOf', { what: t(`physical.colors.${by}`) }),
            })),
            ...MEASURED_NAMES.map((name) => ({
              value: `m:${name}`,
              label: t('physical.colorOf', { what: t('nodes.measuredBy', { name: t(`nodes.${name}`) }) }),
            })),
            ...resources.map((name) => ({
              value: `r:${name}`,
              label: t('physical.colorOf', { what: t('physical.reservedOf', { name }) }),
            })),
            ...(data?.annotations ?? []).map((name) => ({
              value: `a:${name}`,
              label: t('physical.colorOf', { what: t('physical.annotation', { name }) }),
            })),
          ]}
        />
        <PhysicalChoice
          name="order"
          value={settings.order === 'used' ? 'used' : 'name'}
          fallback="name"
          onChange={(value) => set({ order: value })}
          options={(['name', 'used'] as const).map((value) => ({
            value,
            label: t(`physical.orders.${value}`),
          }))}
        />
        <PhysicalChoice
          name="span"
          value={span ?? (showsArrows ? 'all' : 'off')}
          fallback="all"
          onChange={(value) => set({ span: value })}
          options={[
            { value: 'all', label: t('physical.spanAll') },
            ...SPANS.map((value) => ({ value, label: t(`physical.spans.${value}`) })),
            { value: 'off', label: t('physical.spanOff') },
          ]}
        />
        <FindBox
          view="physical"
          label={t('physical.find')}
          foundWidth={44}
          found={
            found === null ? null : (
              <span className={`${words.num} ${words.dim}`} data-testid="physical-found">
                {count(found.nodes.size + found.workers.size)}
              </span>
            )
          }
        />
      </Group>
    </div>
  );
}
