import { type RefObject, useCallback, useLayoutEffect, useState } from 'react';

/** Whether columns extend beyond the left or the right edge, and a function that checks again. */
export function useColumnOverflow(scroller: RefObject<HTMLDivElement | null>, width: number) {
  const [beyond, setBeyond] = useState({ left: false, right: false });
  const look = useCallback(() => {
    const element = scroller.current;
    if (element === null) return;
    const left = element.scrollLeft > 1;
    const right = element.scrollLeft + element.clientWidth < element.scrollWidth - 1;
    setBeyond((now) => (now.left === left && now.right === right ? now : { left, right }));
  }, [scroller]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: changed columns change the width.
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    look();
    const observer = new ResizeObserver(look);
    observer.observe(element);
    return () => observer.disconnect();
  }, [scroller, look, width]);
  return [beyond, look] as const;
}
