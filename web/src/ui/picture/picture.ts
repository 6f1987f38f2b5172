/** Saves a part of the page as a self-contained picture, with a caption above it. */

import { surfaceColors } from '../../base/tokens';
import { xmlText } from '../../base/xml';
import type { Scheme } from '../canvas';

export interface Caption {
  title: string;
  /** Smaller lines below the title: the session and the range. */
  lines: string[];
}

/** A drawing whose SVG does not depend on external styles. */
export interface Svg {
  svg: string;
  width: number;
  height: number;
}

/** Margin around the picture, px. */
const MARGIN = 16;
/** Height of the title, px. */
const TITLE = 24;
/** Height of a line below the title, px. */
const LINE = 18;
const MIN_WIDTH = 520;
/** Maximum side length that browsers can draw, px. */
const MAX_SIDE = 8_000;
/** Pixels per CSS px of everything except canvases. This suits high-density screens. */
const SCALE = 2;
/** Marks elements that pictures omit: buttons, and titles that the caption repeats. */
export const NOT_IN_PICTURE = { 'data-no-picture': '' };

/** An SVG with its caption above it. */
export function withCaption(caption: Caption, { svg, width, height }: Svg, scheme: Scheme): Svg {
  const top = MARGIN + TITLE + caption.lines.length * LINE + MARGIN / 2;
  const wide = Math.max(width, MIN_WIDTH);
  const ink = scheme === 'light' ? '#1d2733' : '#d5dae1';
  const text = (y: number, size: number, weight: number, fill: string, content: string) =>
    `<text x="${MARGIN}" y="${y}" font-size="${size}" font-weight="${weight}" fill="${fill}">${xmlText(content)}</text>`;
  return {
    svg:
      `<svg xmlns="http://www.w3.org/2000/svg" width="${wide}" height="${top + height}" ` +
      `font-family="system-ui, sans-serif"><rect width="100%" height="100%" fill="${surfaceColors.page[scheme]}"/>` +
      text(MARGIN + 14, 16, 600, ink, caption.title) +
      caption.lines
        .map((line, at) => text(MARGIN + TITLE + 12 + at * LINE, 12, 400, surfaceColors.muted[scheme], line))
        .join('') +
      `<svg y="${top}" width="${width}" height="${height}" overflow="hidden">${svg}</svg></svg>`,
    width: wide,
    height: top + height,
  };
}

/** A captioned PNG of an SVG, or of an element as it is on screen. */
export async function toPng(caption: Caption, source: Svg | HTMLElement, scheme: Scheme): Promise<Blob> {
  if (!(source instanceof HTMLElement)) return blobOf(await drawSvg(withCaption(caption, source, scheme)));
  const drawn = source instanceof HTMLCanvasElement ? source : await drawElement(source, scheme);
  const scale = drawn.width / Math.max(1, source.clientWidth);
  const width = source.clientWidth;
  const head = await drawSvg(withCaption(caption, { svg: '', width, height: 0 }, scheme), scale);
  const canvas = document.createElement('canvas');
  canvas.width = Math.max(head.width, drawn.width);
  canvas.height = head.height + drawn.height;
  const context = canvas.getContext('2d');
  if (context !== null) {
    context.fillStyle = surfaceColors.page[scheme];
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.drawImage(head, 0, 0);
    context.drawImage(drawn, 0, head.height);
  }
  return blobOf(canvas);
}

async function drawElement(element: HTMLElement, scheme: Scheme): Promise<HTMLCanvasElement> {
  const { domToCanvas } = await import('modern-screenshot');
  return domToCanvas(element, {
    scale: SCALE,
    backgroundColor: surfaceColors.page[scheme],
    font: false,
    // Otherwise the copy of a figure would get the browser's default margins.
    style: { margin: '0' },
    filter: (node) => !(node instanceof HTMLElement && 'noPicture' in node.dataset),
    features: { restoreScrollPosition: true },
  });
}

async function drawSvg({ svg, width, height }: Svg, wanted = SCALE): Promise<HTMLCanvasElement> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const scale = Math.min(wanted, MAX_SIDE / Math.max(width, height));
  const canvas = document.createElement('canvas');
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  canvas.getContext('2d')?.drawImage(image, 0, 0, canvas.width, canvas.height);
  return canvas;
}

function blobOf(canvas: HTMLCanvasElement): Promise<Blob> {
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => (blob === null ? reject(new Error('no picture')) : resolve(blob)), 'image/png');
  });
}
