import { useEffect, useRef, useState } from 'react';
import { copyText } from '../base/copy';

/** Whether the text was just copied, and a function that copies it. */
export function useCopied(): readonly [boolean, (text: string) => void] {
  const [copied, setCopied] = useState(false);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  return [
    copied,
    (text) => {
      void copyText(text).then((done) => {
        setCopied(done);
        clearTimeout(timer.current);
        timer.current = setTimeout(() => setCopied(false), 1500);
      });
    },
  ] as const;
}
