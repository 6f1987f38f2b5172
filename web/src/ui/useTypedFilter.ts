import { useEffect, useRef, useState } from 'react';
import { type FilterName, withFilter } from '../base/url';
import { useSessionUrl } from './useUrl';

/** Delay between the last keystroke and the filter, ms. */
const PAUSE = 250;

/** A field that updates the URL when the user stops typing, and follows changes of the URL. */
export function useTypedFilter(name: FilterName): readonly [string, (value: string, now?: boolean) => void] {
  const [url, change] = useSessionUrl();
  return useTypedText(url.filters[name] ?? '', (wanted) =>
    // Typing adds one entry to the history.
    change((before) => withFilter(before, name, wanted || undefined), { replace: !!url.filters[name] }),
  );
}

/** Likewise, with the text in the URL and a function that changes it. */
export function useTypedText(
  inUrl: string,
  send: (wanted: string) => void,
): readonly [string, (value: string, now?: boolean) => void] {
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
          send(wanted);
        },
        now ? 0 : PAUSE,
      );
    },
  ] as const;
}
