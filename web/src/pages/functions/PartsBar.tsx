import { useTranslation } from 'react-i18next';
import { duration } from '../../base/format';
import { PHASE_STATES, TIME_PARTS, type TimePart } from '../../base/scheduling';
import { stateColor } from '../../base/tokens';
import timeline from '../../ui/theme/timeline.module.css';

const PARTS = Object.keys(TIME_PARTS) as TimePart[];

/** The parts of a function's total time as a full-width bar. */
export function PartsBar({ parts }: { parts: Record<`${TimePart}_ns`, number | null> }) {
  const { t } = useTranslation();
  const known = PARTS.map((part) => ({ part, spent: parts[`${part}_ns`] ?? 0 })).filter(
    ({ spent }) => spent > 0,
  );
  const all = known.reduce((sum, { spent }) => sum + spent, 0);
  if (all === 0) return null;
  const text = known.map(({ part, spent }) => `${t(`time.${part}`)}: ${duration(spent)}`);
  return (
    <div
      className={timeline.bar}
      style={{ margin: 0, width: '100%' }}
      role="img"
      aria-label={text.join(', ')}
      title={text.join('\n')}
      data-testid="function-parts"
    >
      {known.map(({ part, spent }) => (
        <span
          key={part}
          style={{ flexGrow: spent / all, background: stateColor(PHASE_STATES[TIME_PARTS[part][0]]) }}
        />
      ))}
    </div>
  );
}
