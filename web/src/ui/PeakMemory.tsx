import { useTranslation } from 'react-i18next';
import type { TaskItem } from '../api/schema';
import { bytes } from '../base/format';
import { Dash } from './Dash';
import words from './theme/words.module.css';

/** An attempt's peak memory, with a mark if others shared its process. `full`: with what it means, or why it is unknown. */
export function PeakMemory({ attempt, full }: { attempt: TaskItem; full?: boolean }) {
  const { t } = useTranslation();
  const { peak_memory, start_memory, memory_scope } = attempt;
  const why = t(`peakMemory.${memory_scope ?? 'unknown'}`, { start: bytes(start_memory) });
  return (
    <span className={full ? undefined : words.num} title={why}>
      {peak_memory === null ? <Dash /> : `${bytes(peak_memory)}${memory_scope === 'shared' ? ' *' : ''}`}
      {full && <span className={words.dim}> · {why}</span>}
    </span>
  );
}
