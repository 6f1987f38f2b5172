import { useTranslation } from 'react-i18next';
import type { FlameFrame } from '../../api/schema';
import { bytes, count, duration } from '../../base/format';
import { useSessionUrl } from '../../ui/useUrl';
import { found, matcher, type Node, shareText, type Weight } from './flame';

/** Formats a value of a weight. */
export function valueText(value: number, weight: Weight): string {
  if (weight === 'count') return count(value);
  if (weight === 'memory_time') return `${bytes(value)}·s`;
  return weight === 'bytes' ? bytes(value) : duration(value);
}

/** The value of a node: a number of samples, a share of them, or a value of the weight. */
export function useNodeValue(weight: Weight): (node: Node) => string {
  const { t } = useTranslation();
  return ({ frame, samples }) => {
    if (samples === undefined) return valueText(frame.value, weight);
    if (samples.line === null) return t('lines.samples', { n: count(samples.of) });
    return shareText(frame.value, samples.of);
  };
}

/** The p95 and the maximum of the peak memory of a frame's own attempts; empty if none was measured. */
export function usePeaksText(): (frame: FlameFrame) => string {
  const { t } = useTranslation();
  return ({ p95_memory, max_memory }) => {
    if (max_memory === null) return '';
    const max = t('flame.peakMax', { size: bytes(max_memory) });
    return p95_memory === null ? max : `p95 ${bytes(p95_memory)} · ${max}`;
  };
}

/** How many frames at or below a node match the search, and their share of its value; null without a search. */
export function useFoundText(node: Node): string | null {
  const { t } = useTranslation();
  const [url] = useSessionUrl();
  const matches = matcher(url.settings?.find);
  if (matches === null) return null;
  const { frames, value } = found(node, matches);
  return t('flame.found', { n: count(frames), share: shareText(value, node.frame.value) });
}

/** The label of a frame. */
export function useFrameName(): (frame: FlameFrame) => string {
  const { t } = useTranslation();
  return (frame) => {
    if (frame.kind === 'other') return t('flame.other', { n: count(frame.folded) });
    if (frame.kind === 'unknown') return frame.name ?? t('flame.unknown');
    return frame.name ?? t('flame.driver');
  };
}
