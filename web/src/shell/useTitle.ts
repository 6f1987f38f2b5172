import { useEffect } from 'react';

/** Sets the document's title: the given parts, then the name of the product. */
export function useTitle(...parts: string[]): void {
  const title = [...parts, 'Rayscope'].join(' · ');
  useEffect(() => {
    document.title = title;
  }, [title]);
}
