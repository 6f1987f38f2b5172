/** Draws the minimap above the Gantt chart: the number of running attempts over time. */

import type { GanttAnswer } from '../../api/schema';
import type { Palette, Size } from '../../ui/canvas';

export function drawUtilisation(
  context: CanvasRenderingContext2D,
  size: Size,
  utilisation: NonNullable<GanttAnswer['utilisation']>,
  span: number,
  look: Palette,
): void {
  const most = Math.max(...utilisation.running, 1e-9);
  context.fillStyle = look.tone('busy');
  context.globalAlpha = 0.55;
  utilisation.running.forEach((mean, bucket) => {
    const x0 = ((bucket * utilisation.bucket_ns) / span) * size.width;
    const x1 = Math.min(1, ((bucket + 1) * utilisation.bucket_ns) / span) * size.width;
    const height = (mean / most) * (size.height - 4);
    context.fillRect(x0, size.height - height, Math.max(1, x1 - x0 + 0.5), height);
  });
  context.globalAlpha = 1;
}
