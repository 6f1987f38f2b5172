import { type RefObject, useEffect, useRef } from 'react';

/**
 * Calls `onWheel` for each wheel event over an element, and keeps the page from scrolling unless it returns
 * false.
 */
export function useWheel(
  box: RefObject<HTMLElement | null>,
  ready: boolean,
  onWheel: (event: WheelEvent) => unknown,
): void {
  // React's wheel listener is passive and cannot prevent scrolling.
  const wheel = useRef<(event: WheelEvent) => void>(onWheel);
  wheel.current = (event) => {
    if (onWheel(event) !== false) event.preventDefault();
  };
  useEffect(() => {
    const element = box.current;
    if (!ready || element === null) return;
    const listen = (event: WheelEvent) => wheel.current(event);
    element.addEventListener('wheel', listen, { passive: false });
    return () => element.removeEventListener('wheel', listen);
  }, [box, ready]);
}
