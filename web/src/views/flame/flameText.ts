import { useTranslation } from 'react-i18next';
import type { FlameFrame } from '../../api/schema';
import { bytes, count, duration } from '../../base/format';
import type { Weight } from './flame';

/** Formats a value of a weight. */
export function valueText(value: number, weight: Weight): string {
  return weight === 'count' ? count(value) : weight === 'bytes' ? bytes(value) : duration(value);
}

/** The label of a frame. */
export function useFrameName(): (frame: FlameFrame) => string {
  const { t } = useTranslation();
  return (frame) => {
    if (frame.kind === 'other') return t('flame.other', { n: count(frame.folded) });
    if (frame.kind === 'unknown') return t('flame.unknown');
    return frame.name ?? t('flame.driver');
  };
}
