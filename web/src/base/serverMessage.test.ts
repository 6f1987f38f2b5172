import { expect, it } from 'vitest';
import { zhServerMessages } from './i18n/zh.serverMessages';
import { messageKey } from './serverMessage';

function lookUp(key: string): unknown {
  return key
    .split('.')
    .reduce<unknown>((node, part) => (node as Record<string, unknown>)?.[part], zhServerMessages);
}

const message = 'As the server says it.';

it('finds the texts of a code, and of what the message is about', () => {
  expect(messageKey({ code: 'busy', message }, lookUp)).toBe('serverMessage.busy');
  const params = { what: 'task', id: '12' };
  expect(messageKey({ code: 'not_found', message, params }, lookUp)).toBe('serverMessage.not_found_task');
});

it("keeps the server's text if the translation would say less or is missing", () => {
  expect(messageKey({ code: 'not_found', message }, lookUp)).toBeNull();
  expect(messageKey({ code: 'unreachable', message }, lookUp)).toBeNull();
  expect(messageKey({ code: 'bad_query', message }, lookUp)).toBeNull();
  expect(messageKey({ code: null, message }, lookUp)).toBeNull();
  const params = { address: '10.0.0.1:6379' };
  expect(messageKey({ code: 'unreachable', message, params }, lookUp)).toBe('serverMessage.unreachable');
  expect(messageKey({ code: 'deadline', message, params }, lookUp)).toBeNull();
});
