import { useEffect, useMemo, useRef, useState } from 'react';
import { withSettings } from '../../base/url';
import { formatQueries, parseQueries } from '../../ui/charts/queries';
import { useSessionUrl } from '../../ui/useUrl';

export interface Draft {
  id: number;
  text: string;
}

/** The queries as they are being edited (`rows`), and as they were last run (`exprs`, in the URL). */
export function useDrafts() {
  const [url, change] = useSessionUrl();
  const encoded = url.settings?.expr;
  const exprs = useMemo(() => parseQueries(encoded), [encoded]);
  const next = useRef(0);
  const draft = (text: string): Draft => {
    next.current += 1;
    return { id: next.current, text };
  };
  const [rows, setRows] = useState(() => (exprs.length > 0 ? exprs : ['']).map(draft));
  const latest = useRef(rows);
  const show = (now: Draft[]) => {
    latest.current = now;
    setRows(now);
  };
  // The user went back, or opened another chart here.
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs only when the address changes.
  useEffect(() => {
    if (formatQueries(latest.current.map(({ text }) => text)) !== formatQueries(exprs))
      show((exprs.length > 0 ? exprs : ['']).map(draft));
  }, [exprs]);
  const run = (now: Draft[]) => {
    show(now);
    const expr = formatQueries(now.map(({ text }) => text));
    change((before) => withSettings(before, { expr }), { replace: true });
  };
  const changed = ({ id, text }: Draft) => latest.current.map((row) => (row.id === id ? { id, text } : row));
  return {
    rows,
    exprs,
    write: (id: number, text: string) => show(changed({ id, text })),
    add: () => show([...latest.current, draft('')]),
    remove: (id: number) => run(latest.current.filter((row) => row.id !== id)),
    /** Runs all queries. If `given` is set, it replaces one of them first. */
    run: (given?: Draft) => run(given === undefined ? latest.current : changed(given)),
  };
}
