/** Colours by peak memory. */

import type { GanttAnswer } from '../../api/schema';
import type { Palette, Scheme } from '../../ui/canvas';

/** The fill for a peak, darker (in the dark scheme: lighter) for larger ones, and gray for an unknown one. */
export function memoryFill(peak: number | null | undefined, largest: number | null, scheme: Scheme): string {
  const isLight = scheme === 'light';
  if (peak === null || peak === undefined || !largest) return isLight ? 'hsl(0 0% 88%)' : 'hsl(0 0% 24%)';
  const share = Math.min(1, peak / largest);
  return isLight ? `hsl(275 60% ${89 - share * 28}%)` : `hsl(275 ${25 + share * 20}% ${26 + share * 24}%)`;
}

/** The fill of a bar: that of its function or, with `byMemory`, that of its peak memory. */
export function barFill(
  { data, byMemory }: { data: GanttAnswer; byMemory: boolean },
  look: Palette,
  bar: number,
): string {
  if (byMemory) return memoryFill(data.bars.peak_memory[bar], data.max_memory, look.scheme);
  return look.named(data.names[data.bars.name[bar] as number] ?? '');
}
