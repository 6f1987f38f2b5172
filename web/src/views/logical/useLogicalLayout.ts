import { useEffect, useRef, useState } from 'react';
import { keepLayout, type Layout, layout } from './logicalLayout';
import { type LogicalAnswer, structureOf } from './logicalModel';

interface LayoutState {
  /** The request to which this layout belongs, and the structure that was laid out. */
  question: string;
  structure: string;
  layout: Layout;
}

/**
 * The positions of the nodes, and the graph to which they belong. New numbers move nothing, and new nodes do
 * not move the others.
 */
export function useLogicalLayout(answer: LogicalAnswer | undefined, question: string, session: string) {
  const [state, setState] = useState<LayoutState>();
  const [arrangedGraph, setGraph] = useState<LogicalAnswer>();
  const [failed, setFailed] = useState<Error | null>(null);
  const [turn, setTurn] = useState(0);
  const latest = useRef<{ state?: LayoutState; turn: number }>({ turn: 0 });
  const requestKey = `${question}#${turn}`;
  const running = useRef<{ requestKey: string }>(undefined);
  const [done, setDone] = useState(0);
  useEffect(
    () => () => {
      running.current = undefined;
    },
    [],
  );
  // biome-ignore lint/correctness/useExhaustiveDependencies: `done` triggers a check for newer answers.
  useEffect(() => {
    if (answer === undefined) return;
    const structure = structureOf(answer);
    const known = latest.current.state;
    if (known?.question === requestKey && known.structure === structure) {
      setGraph(answer);
      return;
    }
    // Run one layout at a time, since answers may arrive faster than a large graph is laid out.
    if (running.current?.requestKey === requestKey) return;
    const mine = { requestKey };
    running.current = mine;
    layout(answer)
      .then((fresh) => {
        if (running.current !== mine) return;
        running.current = undefined;
        const layout = known?.question === requestKey ? keepLayout(known.layout, fresh, answer) : fresh;
        const next = { question: requestKey, structure, layout };
        latest.current.state = next;
        setState(next);
        setGraph(answer);
        setFailed(null);
        setDone((before) => before + 1);
      })
      .catch((error: unknown) => {
        if (running.current !== mine) return;
        running.current = undefined;
        setFailed(error instanceof Error ? error : new Error(String(error)));
      });
  }, [answer, requestKey, done]);
  return {
    layout: state?.layout,
    arrangedGraph: arrangedGraph?.session === session ? arrangedGraph : undefined,
    failed,
    arrange: () => setTurn((before) => before + 1),
    /** Identifies the request whose layout is shown. */
    arranged: state?.question ?? '',
  };
}
