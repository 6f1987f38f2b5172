import { useTranslation } from 'react-i18next';
import type { TaskItem } from '../api/schema';
import { bytes, duration, percent } from '../base/format';
import { Dash } from './Dash';
import words from './theme/words.module.css';

/** The fields of attempts and actors about the GPUs that they held. */
export type GpuFields = Pick<
  TaskItem,
  'gpu_scope' | 'gpu_busy_ns' | 'gpu_measured_ns' | 'gpu_held_ns' | 'gpu_memory_peak_bytes'
>;

/** How long the GPUs of an attempt or an actor were busy, or why that is unknown. `full`: with what was measured. */
export function GpuUse({ use, full }: { use: GpuFields; full?: boolean }) {
  const { t } = useTranslation();
  if (use.gpu_scope === null) return <Dash />;
  const known = use.gpu_busy_ns !== null && use.gpu_measured_ns !== null;
  const why = t(`gpuUse.${use.gpu_scope}`, {
    measured: duration(use.gpu_measured_ns),
    held: duration(use.gpu_held_ns),
  });
  const share = percent((use.gpu_busy_ns ?? 0) / Math.max(1, use.gpu_measured_ns ?? 1));
  return (
    <span className={full ? words.num : `${words.num} ${words.ellipsis}`} title={why}>
      {known ? `${duration(use.gpu_busy_ns)} (${share}%)` : why}
      {known && full && <span className={words.dim}> · {why}</span>}
      {full && use.gpu_memory_peak_bytes !== null && (
        <div>{t('gpuUse.memory', { peak: bytes(use.gpu_memory_peak_bytes) })}</div>
      )}
    </span>
  );
}
