import { useState } from 'react';

/**
 * The values of a form, and a function that changes them. It also changes `draft` in place; the caller sends
 * it when the user confirms.
 */
export function useDraft<T extends object>(draft: T): [shown: T, set: (changed: Partial<T>) => void] {
  const [shown, setShown] = useState({ ...draft });
  const set = (changed: Partial<T>) => {
    Object.assign(draft, changed);
    setShown({ ...draft });
  };
  return [shown, set];
}
