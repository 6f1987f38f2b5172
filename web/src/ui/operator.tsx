import { createContext, lazy, type ReactNode, useCallback, useContext, useState } from 'react';
import type { OperatorAction } from './OperatorDialog';
import { PageBoundary } from './PageBoundary';

const OperatorDialog = lazy(() => import('./OperatorDialog'));

type Start = <T>(action: OperatorAction) => Promise<T | undefined>;

const Context = createContext<Start>(() => Promise.resolve(undefined));

/**
 * Starts an {@link OperatorAction}. Resolves to the server's answer, or to undefined if the user cancelled.
 */
export function useOperatorAction(): Start {
  return useContext(Context);
}

interface Pending {
  action: OperatorAction;
  resolve: (answer: unknown) => void;
}

/** Provides the dialog for operator actions. */
export function OperatorProvider({ children }: { children: ReactNode }) {
  const [pending, setPending] = useState<Pending | null>(null);
  const start = useCallback(
    <T,>(action: OperatorAction) =>
      new Promise<T | undefined>((resolve) => setPending({ action, resolve: resolve as Pending['resolve'] })),
    [],
  );
  const close = (answer?: unknown) => {
    pending?.resolve(answer);
    setPending(null);
  };
  return (
    <Context.Provider value={start}>
      {children}
      {pending !== null && (
        <PageBoundary>
          <OperatorDialog action={pending.action} onClose={close} />
        </PageBoundary>
      )}
    </Context.Provider>
  );
}
