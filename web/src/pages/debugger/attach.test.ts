import { expect, it } from 'vitest';
import { commandOf, launchConfiguration, remoteRoot, sourcePlace } from './attach';
import type { TracedTask } from './traced';

const RAY = '/tmp/ray/session_1/runtime_resources/working_dir_files/_ray_pkg_ab12';

it('finds the folder of the code', () => {
  expect(remoteRoot(`${RAY}/jobs/train.py`)).toBe(RAY);
  expect(remoteRoot('/home/me/train.py')).toBe('/home/me');
  expect(remoteRoot('/train.py')).toBe('/');
  expect(remoteRoot('<string>')).toBeNull();
  expect(remoteRoot(null)).toBeNull();
});

it('names the place of a pause', () => {
  expect(sourcePlace({ file: '/home/me/train.py', line: 7 })).toBe('train.py:7');
  expect(sourcePlace({ file: '<string>', line: 1 })).toBe('<string>:1');
  expect(sourcePlace({ file: null, line: 0 })).toBeNull();
});

it('writes the command and the configuration of an editor', () => {
  const task = { task_id: 'ab', session: 'session_1', file: `${RAY}/train.py` } as TracedTask;
  const server = 'http://ray:8700';
  expect(commandOf(task, server)).toBe(`rayscope debug ab --session session_1 --server ${server}`);
  expect(commandOf(task, server, 5678)).toContain('debug ab --port 5678 --session');
  expect(commandOf({ ...task, session: '$(rm)' }, server)).toContain("--session '$(rm)'");
  expect(JSON.parse(launchConfiguration(task, 'train "it"'))).toEqual({
    name: 'Ray: train "it"',
    type: 'debugpy',
    request: 'attach',
    connect: { host: '127.0.0.1', port: 5678 },
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of the editor.
    pathMappings: [{ localRoot: '${workspaceFolder}', remoteRoot: RAY }],
    justMyCode: false,
    subProcess: false,
  });
  expect(launchConfiguration({ ...task, file: null }, 'train')).not.toContain('pathMappings');
});
