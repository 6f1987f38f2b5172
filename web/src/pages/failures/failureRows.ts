import type { FailedAttempt, FailureGroup } from '../../api/schema';

/** The last row of an unfolded group that has more attempts than the answer lists. */
export interface MoreAttempts {
  of: FailureGroup;
}
export type FailureRow = FailureGroup | FailedAttempt | MoreAttempts;

export const isGroup = (row: FailureRow): row is FailureGroup => 'latest' in row;
export const isMore = (row: FailureRow): row is MoreAttempts => 'of' in row;

/** A key that identifies the same failures in every answer. */
export function failureKey(row: FailureRow): string {
  if (isMore(row)) return `more ${failureKey(row.of)}`;
  if (!isGroup(row)) return `${row.task_id}:${row.attempt}`;
  return JSON.stringify([row.func_name, row.error_type, row.message, row.file, row.line]);
}

/** The kind of the row, and for groups and attempts also the outcome of the tasks. */
export function failureKind(row: FailureRow): string {
  if (isMore(row)) return 'more';
  return isGroup(row) ? `group ${row.outcome}` : `attempt ${row.outcome}`;
}

/** Groups in the server's order. The attempts of an unfolded group are right below it. */
export function failureRows(groups: FailureGroup[], unfolded: ReadonlySet<string>): FailureRow[] {
  return groups.flatMap((group): FailureRow[] => {
    if (!unfolded.has(failureKey(group))) return [group];
    const more = group.attempts > group.latest.length ? [{ of: group }] : [];
    return [group, ...group.latest, ...more];
  });
}
