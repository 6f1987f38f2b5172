import type { TFunction } from 'i18next';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { Worker } from '../../api/schema';
import type { Item } from '../../api/types';
import { workerName } from '../../base/workerName';
import { DeathCause } from '../../ui/DeathCause';
import { Section } from '../../ui/Drawer';
import { EventLines, usePlatformEvents } from '../../ui/EventLines';
import { Running, RunningList } from '../../ui/Running';
import type { Column } from '../../ui/table/columns';
import words from '../../ui/theme/words.module.css';
import { EntityView } from './EntityView';

/** The worker processes, named after what ran in them. */
export default function WorkersPage() {
  const { t } = useTranslation();
  const columns = useMemo<Record<string, Column<Item>>>(
    () => ({
      name: {
        id: 'name',
        header: t('column.worker'),
        width: 170,
        cell: (worker) => {
          const name = nameOf(t, worker);
          return (
            <span
              className={name.known ? words.ellipsis : `${words.ellipsis} ${words.dim}`}
              title={name.text}
            >
              {name.text}
            </span>
          );
        },
      },
      running: {
        id: 'running',
        header: t('field.running'),
        width: 280,
        grow: true,
        needed: (worker) => worker.state !== 'DEAD',
        cell: (worker) => <Running worker={of(worker)} ended={worker.state === 'DEAD'} />,
      },
    }),
    [t],
  );
  return (
    <EntityView
      view="workers"
      extras={{
        columns,
        title: (worker) => `${nameOf(t, worker).text} · PID ${worker.pid ?? '–'}`,
        detail: (worker) => (
          <>
            <RunningNow worker={of(worker)} />
            <PlatformEvents worker={of(worker)} />
          </>
        ),
        hide: SHOWN_ELSEWHERE,
      }}
    />
  );
}

const of = (item: Item) => item as Worker;

const SHOWN_ELSEWHERE: ReadonlySet<string> = new Set(['running']);

/** The oldest running attempts of a live worker. */
function RunningNow({ worker }: { worker: Worker }) {
  const { t } = useTranslation();
  if (worker.state === 'DEAD') return <DeathCause kind="worker" id={worker.worker_id} />;
  return (
    <Section title={t('field.running')} testId="worker-running">
      <RunningList worker={worker} none={t('running.idle')} />
    </Section>
  );
}

/** What Kubernetes reported about the worker's node in its lifetime. Hidden if nothing. */
function PlatformEvents({ worker }: { worker: Worker }) {
  const { t } = useTranslation();
  const events = usePlatformEvents(worker.start_ns, worker.end_ns, worker.node_id);
  if (worker.node_id === null || events.length === 0) return null;
  return (
    <Section title={t('events.ofPlatform')} testId="platform-events">
      <EventLines events={events} />
    </Section>
  );
}

/** The script of a driver; for other workers, the functions or the actor that ran in them. */
function nameOf(t: TFunction, item: Item): { text: string; known: boolean } {
  const worker = of(item);
  if (worker.worker_type === 'DRIVER')
    return {
      text: worker.script === null ? t('stack.driver') : t('stack.driverOf', { script: worker.script }),
      known: true,
    };
  const name = workerName(worker);
  return { text: name || t('entity.ranNothing'), known: name !== '' };
}
