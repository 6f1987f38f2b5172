import { type RefObject, useEffect, useRef } from 'react';

/** Calls `onWheel` for each wheel event over an element, and keeps the page from scrolling. */
export function useWheel(
  box: RefObject<HTMLElement | null>,
  ready: boolean,
  onWheel: (event: WheelEvent) => void,
): void {
  // React's wheel listener is passive and cannot prevent scrolling.
  const wheel = useRef(onWheel);
  wheel.current = (event) => {
    event.preventDefault();
    onWheel(event);
  };
  useEffect(() => {
    const element = box.current;
    if (!ready || element === null) return;
    const listen = (event: WheelEvent) => wheel.current(event);
    element.addEventListener('wheel', listen, { passive: false });
    return () => element.removeEventListener('wheel', listen);
  }, [box, ready]);
}
