import { MantineProvider } from '@mantine/core';
import { QueryClientProvider } from '@tanstack/react-query';
import { act, type RenderResult, render as renderPlain } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import i18next from 'i18next';
import type { ReactElement, ReactNode } from 'react';
import { vi } from 'vitest';
import { queryClient } from '../api/queries';
import { type Language, loadTexts } from '../base/i18n/language';
import { initI18n } from '../shell/i18n';
import { OperatorProvider } from '../ui/operator';

/** A request sent by a component. */
export interface Request {
  method: string;
  path: string;
  params: Record<string, string>;
  body: unknown;
}

/**
 * The body of an answer, or a function that builds it for each request. For an error, the function returns a
 * `Response`.
 */
type Answer = object | ((request: Request) => object | Promise<object>);

/**
 * Renders part of the page inside the providers of the whole page. `at` is the browser's address. `answers`
 * maps paths to the server's answers; requests for other paths are never answered. Also returns the requests
 * that the component sends.
 */
export async function render(
  element: ReactElement,
  {
    at = '/s/session_1',
    language = 'en',
    answers = {},
  }: { at?: string; language?: Language; answers?: Record<string, Answer> } = {},
): Promise<Pick<RenderResult, 'rerender' | 'unmount'> & { requests: Request[] }> {
  if (i18next.language !== language) initI18n(language, await loadTexts(language));
  window.history.replaceState(null, '', at);
  const requests = answerWith(answers);
  const { rerender, unmount } = renderPlain(element, { wrapper: Providers });
  return { rerender, unmount, requests };
}

/** The page's providers, but without styles, which happy-dom would search again for every element. */
function Providers({ children }: { children: ReactNode }) {
  return (
    <MantineProvider env="test" withCssVariables={false} withGlobalClasses={false}>
      <QueryClientProvider client={queryClient}>
        <OperatorProvider>{children}</OperatorProvider>
      </QueryClientProvider>
    </MantineProvider>
  );
}

/** Nothing is laid out in tests, so the check of what the pointer can reach would be meaningless. */
const PLAIN = { delay: null, pointerEventsCheck: 0 } as const;

export const click = (element: Element) => userEvent.click(element, PLAIN);
export const type = (element: Element, text: string) => userEvent.type(element, text, PLAIN);
/** Presses keys in the focused element: letters, and names as in `{Enter}`. */
export const press = (keys: string) => userEvent.keyboard(keys, PLAIN);

/** Advances fake time after `vi.useFakeTimers()`. */
export const pass = (ms: number) => act(() => vi.advanceTimersByTimeAsync(ms));

/** The server's answer to a failed request. */
export function failure(
  status: number,
  error: { code: string; message: string; remedy?: string; params?: Record<string, string | number> },
): Response {
  return Response.json({ error }, { status });
}

function answerWith(answers: Record<string, Answer>): Request[] {
  const requests: Request[] = [];
  vi.stubGlobal('fetch', async (address: string, init: RequestInit = {}): Promise<Response> => {
    const url = new URL(address, window.location.origin);
    const request = {
      method: init.method ?? 'GET',
      path: url.pathname.replace(/^\/api\/v1/, ''),
      params: Object.fromEntries(url.searchParams),
      body: typeof init.body === 'string' ? (JSON.parse(init.body) as unknown) : undefined,
    };
    requests.push(request);
    const answer = answers[request.path];
    if (answer === undefined)
      return new Promise((_, reject) => {
        init.signal?.addEventListener('abort', () => reject(new DOMException('', 'AbortError')));
      });
    const body = await (typeof answer === 'function' ? (answer as (of: Request) => object)(request) : answer);
    return body instanceof Response ? body : Response.json(body);
  });
  return requests;
}
