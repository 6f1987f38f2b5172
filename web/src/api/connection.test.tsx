import { act, renderHook } from '@testing-library/react';
import { expect, test } from 'vitest';
import { connectionEvents, useConnection } from './connection';

test('a request does not rerender components that do not show requests', () => {
  let rendered = 0;
  const { result } = renderHook(() => {
    rendered += 1;
    return useConnection((connection) => connection.needsLogin);
  });
  act(() => {
    const end = connectionEvents.requestStarted();
    connectionEvents.answered();
    end();
  });
  expect(rendered).toBe(1);
  act(() => connectionEvents.unauthorized());
  expect(result.current).toBe(true);
});
