import { Switch } from '@mantine/core';
import { IconCircleCheck } from '@tabler/icons-react';
import { useCallback, useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useFailures } from '../../api/queries';
import type { FailuresAnswer } from '../../api/schema';
import { OUTCOMES } from '../../api/types';
import { count } from '../../base/format';
import { type SessionUrl, toView, withSettings } from '../../base/url';
import type { PageProps } from '../../shell/pages';
import { EmptyState, NoMatches } from '../../ui/EmptyState';
import { ErrorPanel } from '../../ui/ErrorPanel';
import { FilterBar } from '../../ui/FilterBar';
import type { FilterField } from '../../ui/filters/filters';
import { DataTable } from '../../ui/table/DataTable';
import { TableCount } from '../../ui/table/TableCount';
import { TableMenu, useColumnChoice } from '../../ui/table/TableMenu';
import { useSessionUrl } from '../../ui/useUrl';
import { failureColumns } from './failureColumns';
import {
  type FailureRow,
  failureKey,
  failureKind,
  failureRows,
  isGroup,
  isMore,
  type MoreAttempts,
} from './failureRows';

const NO_FAILURES: FailuresAnswer = {
  session: '',
  items: [],
  total: 0,
  stopped_by_libraries: 0,
  tasks: { final: 0, retrying: 0, recovered: 0 },
};

/** Failures grouped by signature, with their outcomes. Each group unfolds into its attempts. */
export default function FailuresPage({ summary }: PageProps) {
  const { t, i18n } = useTranslation();
  const [url, change] = useSessionUrl();
  const { state: _, ...filters } = url.filters;
  const stopped = url.settings?.internal === 'show';
  const failures = useFailures(url.session, filters, stopped);
  const found = failures.data ?? NO_FAILURES;
  const outcome = useOutcomeFilter(found.tasks);
  const [unfolded, setUnfolded] = useState<ReadonlySet<string>>(new Set());
  const rows = useMemo(() => failureRows(found.items, unfolded), [found.items, unfolded]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the texts change with the language alone.
  const columns = useMemo(() => failureColumns(t, unfolded), [t, i18n.language, unfolded]);
  const choice = useColumnChoice('failures', columns, rows);
  const open = useCallback(
    (row: FailureRow, { follow }: { follow: boolean }) => {
      if (isMore(row)) {
        if (!follow) change((before) => listOf(before, row));
      } else if (!isGroup(row)) {
        change((before) => ({ ...before, task: row.task_id, attempt: row.attempt }), { replace: follow });
      } else if (!follow) {
        setUnfolded((before) => toggled(before, failureKey(row)));
      }
    },
    [change],
  );
  return (
    <>
      <FilterBar
        summary={summary}
        hide={['state']}
        first={[outcome]}
        options={
          (stopped || found.stopped_by_libraries > 0) && (
            <Switch
              size="xs"
              label={t('failures.stopped', { n: count(found.stopped_by_libraries) })}
              title={t('failures.stoppedHint')}
              checked={stopped}
              onChange={(event) => {
                const value = event.currentTarget.checked ? 'show' : undefined;
                change((before) => withSettings(before, { internal: value }));
              }}
              data-testid="failures-stopped"
            />
          )
        }
        count={
          failures.data && (
            <TableCount
              list={found}
              text={t('failures.groups', {
                n: count(found.items.length),
                of: count(found.total),
                attempts: count(found.items.reduce((sum, one) => sum + one.attempts, 0)),
              })}
            />
          )
        }
        menu={
          <TableMenu
            name="failures"
            columns={columns}
            choice={choice}
            list={{ rows: found.items, total: found.total }}
          />
        }
      />
      {failures.error !== null && failures.data === undefined ? (
        <ErrorPanel error={failures.error} onRetry={() => void failures.refetch()} />
      ) : (
        <DataTable
          testId="failure-table"
          rowTestId="failure-row"
          kindOf={failureKind}
          listKey={JSON.stringify(filters)}
          label={t('nav.failures')}
          columns={columns}
          visibility={choice.visibility}
          rows={rows}
          keyOf={failureKey}
          openKey={url.task && `${url.task}:${url.attempt ?? ''}`}
          onOpen={open}
          loading={failures.isPending}
          outdated={failures.isPlaceholderData}
          empty={
            Object.keys(filters).length > 0 ? (
              <NoMatches />
            ) : (
              <EmptyState icon={<IconCircleCheck size={26} />} title={t('failures.empty')}>
                {t('failures.emptyText')}
              </EmptyState>
            )
          }
        />
      )}
    </>
  );
}

function useOutcomeFilter(tasks: FailuresAnswer['tasks']): FilterField {
  const { t } = useTranslation();
  return {
    name: 'outcome',
    label: t('failures.outcome'),
    choices: OUTCOMES.map((value) => ({
      value,
      label: `${t(`failures.outcomes.${value}`)} (${count(tasks[value])})`,
    })),
  };
}

/** The list of tasks, filtered by a group's function and error type. */
function listOf(url: SessionUrl, { of: group }: MoreAttempts): SessionUrl {
  const { outcome: _, ...filters } = url.filters;
  const { func_name, error_type } = group;
  const own = { ...(func_name && { func_name }), ...(error_type && { error_type }) };
  return toView(url, 'tasks', { ...filters, ...own, state: 'FAILED' });
}

function toggled(set: ReadonlySet<string>, key: string): ReadonlySet<string> {
  const next = new Set(set);
  if (!next.delete(key)) next.add(key);
  return next;
}
