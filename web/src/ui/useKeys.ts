import { type RefObject, useEffect, useRef } from 'react';
import { addKeys, type Binding } from '../base/keys';

/**
 * Handles keys while the component is mounted, and lists them under `title` in the help. With `within`, only
 * while that element has the focus.
 */
export function useKeys(title: string, bindings: Binding[], within?: RefObject<HTMLElement | null>): void {
  const group = useRef({ title, bindings });
  group.current = {
    title,
    bindings: within
      ? bindings.map((binding) => ({
          ...binding,
          run: (event) => within.current?.contains(event.target as Node) === true && binding.run(event),
        }))
      : bindings,
  };
  useEffect(() => addKeys(group), []);
}
