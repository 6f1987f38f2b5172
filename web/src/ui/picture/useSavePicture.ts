import { download } from '../../base/download';
import { duration, fullTime, nanosBetween } from '../../base/format';
import { rangeIn } from '../../base/url';
import { usePalette } from '../canvas';
import { useSession, useSessionTexts } from '../session';
import { useSessionUrl } from '../useUrl';
import type { Caption, Svg } from './picture';

/** Formats ns since the epoch to the second. */
const second = (ns: string | number | null | undefined) => fullTime(ns).slice(0, 19);

/**
 * Saves a picture with a caption: its title, the session and the range. The range is `range` (ms, a moment if
 * it has no length) or, by default, that of the page.
 */
export function useSavePicture() {
  const [url] = useSessionUrl();
  const session = useSession(url.session);
  const { name } = useSessionTexts();
  const { scheme } = usePalette();

  function captionOf(title: string, range?: { from: number; to: number }): Caption {
    const ran =
      session === undefined
        ? []
        : [name(session), duration(nanosBetween(session.first_ns, session.last_ns)), session.host];
    return {
      title,
      lines: [[...ran, url.session].filter((part) => part).join(' · '), rangeText(range)],
    };
  }

  function rangeText(range: { from: number; to: number } | undefined): string {
    const chosen = rangeIn(url.filters);
    const named =
      url.settings?.at ?? chosen?.to ?? (session?.state === 'live' ? Date.now() * 1e6 : undefined);
    const isMoment = url.view === 'physical' || url.view === 'stack';
    if (range === undefined && isMoment && named !== undefined) return second(named);
    const from = second(range === undefined ? (chosen?.from ?? session?.first_ns) : range.from * 1e6);
    const to = second(range === undefined ? (chosen?.to ?? session?.last_ns) : range.to * 1e6);
    return from === to ? from : `${from} – ${to}`;
  }

  const fileName = (title: string) =>
    `${session?.script || url.session}-${title}`.replace(/[^\p{L}\p{N}.]+/gu, '-').replace(/^-|-$/g, '');
  return {
    savePng: async (
      title: string,
      source: Svg | HTMLElement | null,
      range?: { from: number; to: number },
    ) => {
      if (source === null) return;
      const { toPng } = await import('./picture');
      download(`${fileName(title)}.png`, await toPng(captionOf(title, range), source, scheme));
    },
    saveSvg: async (title: string, source: Svg) => {
      const { withCaption } = await import('./picture');
      const { svg } = withCaption(captionOf(title), source, scheme);
      download(`${fileName(title)}.svg`, new Blob([svg], { type: 'image/svg+xml' }));
    },
  };
}
