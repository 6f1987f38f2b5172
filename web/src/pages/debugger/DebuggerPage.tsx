import { Alert } from '@mantine/core';
import { IconBug, IconLock } from '@tabler/icons-react';
import { useCallback, useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useTopic } from '../../api/realtime';
import type { PausedTask, PausedTasks } from '../../api/schema';
import { count, duration } from '../../base/format';
import { EmptyState } from '../../ui/EmptyState';
import { Prose } from '../../ui/Prose';
import { Toolbar } from '../../ui/Toolbar';
import { DataTable } from '../../ui/table/DataTable';
import { TableCount } from '../../ui/table/TableCount';
import { TableMenu } from '../../ui/table/TableMenu';
import words from '../../ui/theme/words.module.css';
import { useServerMessage } from '../../ui/useServerMessage';
import { useSessionUrl } from '../../ui/useUrl';
import { AttachDialog } from './AttachDialog';
import css from './debugger.module.css';
import { LookDialog } from './LookDialog';
import { PausedDetail } from './PausedDetail';
import { pausedColumns } from './pausedColumns';
import { keyOf } from './traced';
import { type Opened, usePausedActions } from './usePausedActions';

const STEPS = ['install', 'breakpoint', 'error', 'tracer', 'legacy'] as const;

/** The tasks that wait for a debugger, the longest wait first, and what can be done with them. */
export default function DebuggerPage() {
  const { t, i18n } = useTranslation();
  const [url, change] = useSessionUrl();
  const paused = useTopic<PausedTasks>('debugger', { session: url.session });
  const rows = paused?.items ?? [];
  const waiting = rows.filter((row) => row.state !== 'gone').length;
  const isEnabled = paused?.is_enabled ?? false;
  const [opened, setOpened] = useState<Opened | null>(null);
  const actions = usePausedActions(isEnabled, setOpened);
  const chosen = rows.find((row) => keyOf(row) === url.item);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the texts change with the language alone.
  const columns = useMemo(() => pausedColumns(t, actions), [t, i18n.language, actions]);
  const open = useCallback(
    (row: PausedTask, { follow }: { follow: boolean }) =>
      change((before) => ({ ...before, item: keyOf(row) }), { replace: follow }),
    [change],
  );
  const close = () => setOpened(null);
  return (
    <>
      <Toolbar
        count={
          paused !== undefined && (
            <TableCount list={{ total: waiting }} text={t('debugger.count', { n: count(waiting) })} />
          )
        }
        menu={<TableMenu name="paused-tasks" columns={columns} list={{ rows }} />}
      >
        {paused?.limit_s != null && (
          <span className={`${words.dim} ${words.small}`}>
            {t('debugger.limit', { time: duration(paused.limit_s * 1e9) })}
          </span>
        )}
      </Toolbar>
      {paused !== undefined && !isEnabled && (
        <Alert
          icon={<IconLock size={16} />}
          title={t('debugger.disabled')}
          className={css.disabled}
          data-testid="debugger-disabled"
        >
          <Prose text={t('debugger.disabledText')} />
        </Alert>
      )}
      <DataTable
        testId="paused-table"
        rowTestId="paused-row"
        kindOf={(row) => row.state}
        label={t('nav.debugger')}
        columns={columns}
        rows={rows}
        keyOf={keyOf}
        openKey={chosen && keyOf(chosen)}
        onOpen={open}
        loading={paused === undefined}
        empty={<NothingPaused />}
      />
      <LegacyNotes paused={paused} />
      {chosen !== undefined && <PausedDetail key={keyOf(chosen)} task={chosen} actions={actions} />}
      {opened?.kind === 'attach' && <AttachDialog task={opened.task} onClose={close} />}
      {opened?.kind === 'look' && (
        <LookDialog
          task={opened.task}
          stack={opened.stack}
          isGone={rows.every((row) => row.pause_id !== opened.task.pause_id)}
          onClose={close}
        />
      )}
    </>
  );
}

/** Says what is unknown about tasks that wait for Ray's legacy debugger. */
function LegacyNotes({ paused }: { paused: PausedTasks | undefined }) {
  const { t } = useTranslation();
  const translate = useServerMessage();
  if (paused === undefined) return null;
  const { legacy_error: error, legacy_left_out: leftOut } = paused;
  const problem = error === null ? null : translate(error);
  return (
    <>
      {leftOut > 0 && <p className={css.legacyNote}>{t('debugger.legacyLeftOut', { n: count(leftOut) })}</p>}
      {problem !== null && (
        <p className={`${css.legacyNote} ${words.dim}`} data-testid="legacy-error">
          {t('debugger.legacyUnknown')} {problem.message} <Prose text={problem.remedy} />
        </p>
      )}
    </>
  );
}

function NothingPaused() {
  const { t } = useTranslation();
  return (
    <EmptyState icon={<IconBug size={26} />} title={t('debugger.empty')}>
      {t('debugger.emptyText')}
      <ul className={css.steps}>
        {STEPS.map((step) => (
          <li key={step}>
            <Prose text={t(`debugger.emptySteps.${step}`)} />
          </li>
        ))}
      </ul>
    </EmptyState>
  );
}
