import type { TFunction } from 'i18next';
import type { LogFile } from '../../api/schema';
import { workerName } from '../../base/workerName';

/** The display name of a log file: its writer, otherwise Ray's name for it. */
export function fileTitle(t: TFunction, file: LogWriter): string {
  if (isOfDriver(file))
    return file.script === null ? t('stack.driver') : t('stack.driverOf', { script: file.script });
  return (file.worker_id !== null && workerName(file)) || file.name;
}

/** Details that distinguish files with the same name: the kind of file, its process and its job. */
export function fileDetails(t: TFunction, file: LogWriter): string[] {
  const title = fileTitle(t, file);
  return [
    t(`logs.kind.${file.kind as 'other'}`),
    file.pid !== null ? t('gantt.pid', { pid: file.pid }) : '',
    file.script !== null && !isOfDriver(file) && title !== file.name ? file.script : '',
  ].filter((part) => part !== '');
}

type LogWriter = Pick<
  LogFile,
  | 'actor_class'
  | 'actor_name'
  | 'functions'
  | 'functions_total'
  | 'kind'
  | 'name'
  | 'pid'
  | 'script'
  | 'worker_id'
>;

const isOfDriver = (file: LogWriter) =>
  file.kind === 'driver' || (file.kind === 'core' && file.worker_id === null);
