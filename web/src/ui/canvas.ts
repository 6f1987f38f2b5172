/** Shared by the views that draw on a canvas: sizing, theme colours, and text cut to fit. */

import { useComputedColorScheme } from '@mantine/core';
import { useEffect, useLayoutEffect, useRef, useState } from 'react';
import { type Tone, toneColors } from '../base/tokens';

export type Scheme = 'light' | 'dark';

export interface Palette {
  scheme: Scheme;
  text: string;
  muted: string;
  line: string;
  lineSoft: string;
  panel: string;
  hover: string;
  tone: (tone: Tone) => string;
  /** The fill for a name. The same name always has the same fill. */
  named: (name: string) => string;
}

/** Text colour on the fills of `named`. */
export const ON_FILL: Record<Scheme, string> = { light: '#1d2733', dark: '#e9edf2' };

/** A 32-bit hash of a string (FNV-1a). */
export function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) {
    value ^= text.charCodeAt(at);
    value = Math.imul(value, 0x01000193);
  }
  return value >>> 0;
}

const HUES = 18;
const SHADES = 3;
const SLOTS = HUES * SHADES;
/** The colour slot of each name, and the slots in use. */
const slots = new Map<string, number>();
const taken = new Set<number>();

/** The slot that a name hashes to, or a free one if that is in use. If none is free, names share slots. */
function slotOf(name: string): number {
  const known = slots.get(name);
  if (known !== undefined) return known;
  let slot = hash(name) % SLOTS;
  // 7 is coprime to the number of slots, and the next slot has a distant hue.
  if (taken.size < SLOTS) while (taken.has(slot)) slot = (slot + 7) % SLOTS;
  slots.set(name, slot);
  taken.add(slot);
  return slot;
}

/**
 * A muted fill on which text stays readable. Different names have different fills as long as there are
 * enough.
 */
export function namedColor(name: string, scheme: Scheme): string {
  const slot = slotOf(name);
  const hue = (slot % HUES) * (360 / HUES);
  const step = Math.floor(slot / HUES);
  return scheme === 'light' ? `hsl(${hue} 54% ${66 + step * 8}%)` : `hsl(${hue} 32% ${27 + step * 8}%)`;
}

function readPalette(scheme: Scheme): Palette {
  const style = getComputedStyle(document.documentElement);
  const of = (name: string) => style.getPropertyValue(name).trim();
  const named = new Map<string, string>();
  return {
    scheme,
    text: of('--mantine-color-text') || (scheme === 'light' ? '#1d2733' : '#d5dae1'),
    muted: of('--rs-muted'),
    line: of('--rs-line'),
    lineSoft: of('--rs-line-soft'),
    panel: of('--rs-panel'),
    hover: of('--rs-hover'),
    tone: (tone) => toneColors[tone][scheme],
    named: (name) => {
      let color = named.get(name);
      if (color === undefined) {
        color = namedColor(name, scheme);
        named.set(name, color);
      }
      return color;
    },
  };
}

/** The theme's colours for a canvas, updated when the theme changes. */
export function usePalette(): Palette {
  const scheme = useComputedColorScheme('light', { getInitialValueInEffect: false });
  const [palette, setPalette] = useState(() => readPalette(scheme));
  // Runs after the attribute that selects the CSS variables has changed.
  useEffect(() => setPalette(readPalette(scheme)), [scheme]);
  return palette;
}

export interface Size {
  width: number;
  height: number;
}

export type Draw = (context: CanvasRenderingContext2D, size: Size) => void;

/**
 * A canvas that fills `box` (attach both refs) at the screen's resolution. `draw` runs whenever it changes or
 * the size does, at most once per animation frame. Sizes are in CSS px.
 */
export function useCanvas(draw: Draw): {
  box: React.RefObject<HTMLDivElement | null>;
  canvas: React.RefObject<HTMLCanvasElement | null>;
  size: Size;
} {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [size, setSize] = useState<Size>({ width: 0, height: 0 });
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    const measure = () => {
      const next = { width: element.clientWidth, height: element.clientHeight };
      setSize((now) => (now.width === next.width && now.height === next.height ? now : next));
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    const element = canvas.current;
    const context = element?.getContext('2d');
    if (!element || !context || size.width === 0 || size.height === 0) return;
    const frame = requestAnimationFrame(() => {
      const ratio = window.devicePixelRatio || 1;
      const width = Math.round(size.width * ratio);
      const height = Math.round(size.height * ratio);
      if (element.width !== width || element.height !== height) {
        element.width = width;
        element.height = height;
      }
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      context.clearRect(0, 0, size.width, size.height);
      draw(context, size);
    });
    return () => cancelAnimationFrame(frame);
  }, [draw, size]);
  return { box, canvas, size };
}

/** The side of the pause sign, px. */
export const PAUSED = 11;

/** Draws the sign of `PausedMark` with its upper left corner at a position. */
export function drawPaused(context: CanvasRenderingContext2D, look: Palette, x: number, y: number): void {
  context.fillStyle = look.panel;
  context.fillRect(x - 1, y - 1, PAUSED + 2, PAUSED + 2);
  context.fillStyle = look.tone('waiting');
  context.fillRect(x, y, PAUSED, PAUSED);
  context.fillStyle = look.panel;
  context.fillRect(x + 3, y + 2, 2, PAUSED - 4);
  context.fillRect(x + 6, y + 2, 2, PAUSED - 4);
}

const widths = new Map<string, number>();

/** `text` cut with an ellipsis to fit a width in the context's font; '' if not even one letter fits. */
export function fitText(context: CanvasRenderingContext2D, text: string, room: number): string {
  if (room < 10) return '';
  const key = `${context.font}|${text}`;
  let width = widths.get(key);
  if (width === undefined) {
    if (widths.size > 20_000) widths.clear();
    width = context.measureText(text).width;
    widths.set(key, width);
  }
  if (width <= room) return text;
  let letters = Math.floor((text.length * (room - 8)) / width);
  while (letters > 0 && context.measureText(`${text.slice(0, letters)}…`).width > room) letters -= 1;
  return letters < 1 ? '' : `${text.slice(0, letters)}…`;
}

/** The position of a tooltip next to the pointer, inside a box of this size. */
export function tipPlace(x: number, y: number, size: Size) {
  return {
    ...(x > size.width - 260 ? { right: size.width - x + 10 } : { left: x + 14 }),
    ...(y > size.height - 130 ? { bottom: size.height - y + 10 } : { top: y + 14 }),
  };
}
