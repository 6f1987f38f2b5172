import { useState } from 'react';

/** The values of a form. It also changes `draft` in place, which the caller sends on confirmation. */
export function useDraft<T extends object>(draft: T): [shown: T, set: (changed: Partial<T>) => void] {
  const [shown, setShown] = useState({ ...draft });
  const set = (changed: Partial<T>) => {
    Object.assign(draft, changed);
    setShown({ ...draft });
  };
  return [shown, set];
}
