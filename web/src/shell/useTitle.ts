import { useEffect } from 'react';

/** The document's title: what the page shows, before the name of the whole. */
export function useTitle(...parts: string[]): void {
  const title = [...parts, 'Rayscope'].join(' · ');
  useEffect(() => {
    document.title = title;
  }, [title]);
}
