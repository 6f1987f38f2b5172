import { expect, it } from 'vitest';
import { enServerMessages } from './i18n/en.serverMessages';
import { messageKey } from './serverMessage';

function lookUp(key: string): unknown {
  return key
    .split('.')
    .reduce<unknown>((node, part) => (node as Record<string, unknown>)?.[part], enServerMessages);
}

const message = 'As the server says it.';

it('finds the texts of a code, and of a missing entity', () => {
  expect(messageKey('server', { code: 'busy', message }, lookUp)).toBe('serverMessage.server.busy');
  const params = { what: 'task', id: '12' };
  expect(messageKey('server', { code: 'not_found', message, params }, lookUp)).toBe(
    'serverMessage.server.not_found_task',
  );
  expect(messageKey('agent', { code: 'gone', message }, lookUp)).toBe('serverMessage.agent.gone');
});

it("keeps the server's text if the translation would say less or is missing", () => {
  expect(messageKey('server', { code: 'not_found', message }, lookUp)).toBeNull();
  expect(messageKey('server', { code: 'unreachable', message }, lookUp)).toBeNull();
  expect(messageKey('server', { code: 'bad_query', message }, lookUp)).toBeNull();
  expect(messageKey('server', { code: null, message }, lookUp)).toBeNull();
  const params = { address: '10.0.0.1:6379' };
  expect(messageKey('server', { code: 'unreachable', message, params }, lookUp)).toBe(
    'serverMessage.server.unreachable',
  );
  expect(messageKey('server', { code: 'deadline', message, params }, lookUp)).toBeNull();
});
