import { useEffect, useRef, useState } from 'react';
import { type AnyFilter, withFilter } from '../base/url';
import { useListUrl } from './useUrl';

/** Delay between the last keystroke and the filter, ms. */
const PAUSE = 250;

/** A field that updates the URL when the user stops typing, and follows changes of the URL. */
export function useTypedFilter(name: AnyFilter): readonly [string, (value: string, now?: boolean) => void] {
  const [url, change] = useListUrl();
  const inUrl = (url.filters as Partial<Record<AnyFilter, string>>)[name] ?? '';
  const [typed, setTyped] = useState(inUrl);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const sent = useRef(inUrl);
  useEffect(() => {
    // The URL was changed by something else, such as a link or the back button.
    if (inUrl !== sent.current) {
      sent.current = inUrl;
      setTyped(inUrl);
    }
  }, [inUrl]);
  useEffect(() => () => clearTimeout(timer.current), []);
  return [
    typed,
    (value, now) => {
      setTyped(value);
      clearTimeout(timer.current);
      timer.current = setTimeout(
        () => {
          const wanted = value.trim();
          sent.current = wanted;
          // Typing adds one entry to the history.
          change((before) => withFilter(before, name, wanted || undefined), { replace: inUrl !== '' });
        },
        now ? 0 : PAUSE,
      );
    },
  ] as const;
}
