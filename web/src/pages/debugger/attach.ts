import type { PausedTask } from '../../api/schema';
import { forShell } from '../../shell/share/share';
import type { LegacyTask, TracedTask } from './traced';

/** The port on the user's machine at which `rayscope debug` waits for an editor. */
export const PORT = 5678;

/** Ray unpacks a job's working directory into a folder of this kind. */
const WORKING_DIR = /^.*\/working_dir_files\/[^/]+(?=\/)/;

/** The folder of the task's code: the job's working directory if it has the file, else the file's folder. */
export function remoteRoot(file: string | null): string | null {
  if (file === null || !file.includes('/')) return null;
  return WORKING_DIR.exec(file)?.[0] ?? (file.slice(0, file.lastIndexOf('/')) || '/');
}

/** `work.py:12`; null if the file is unknown. */
export function sourcePlace({ file, line }: Pick<PausedTask, 'file' | 'line'>): string | null {
  return file === null ? null : `${file.slice(file.lastIndexOf('/') + 1)}:${line}`;
}

/** The command that connects to a paused task, or an editor to it. `server` is a URL. */
export function commandOf(task: TracedTask, server: string, port?: number): string {
  const words = ['rayscope', 'debug', task.task_id, ...(port === undefined ? [] : ['--port', `${port}`])];
  return [...words, '--session', forShell(task.session), '--server', server].join(' ');
}

/** The command that attaches Ray's legacy debugger. */
export const legacyCommand = ({ legacy }: LegacyTask) =>
  `ray debug --address ${forShell(legacy.gcs_address)}`;

/** The configuration of VS Code and Cursor that attaches to the port. */
export function launchConfiguration(task: TracedTask, name: string): string {
  const root = remoteRoot(task.file);
  return JSON.stringify(
    {
      name: `Ray: ${name}`,
      type: 'debugpy',
      request: 'attach',
      connect: { host: '127.0.0.1', port: PORT },
      // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of the editor.
      ...(root !== null && { pathMappings: [{ localRoot: '${workspaceFolder}', remoteRoot: root }] }),
      justMyCode: false,
      subProcess: false,
    },
    null,
    2,
  );
}
