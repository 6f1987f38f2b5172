import { Box } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useAnswer } from '../../api/queries';
import type { DeathLink } from '../../api/schema';
import type { Item, Ns } from '../../api/types';
import { headline } from '../../base/format';
import { DeathCause, useCauseText } from '../../ui/DeathCause';
import { Section } from '../../ui/Drawer';
import { ErrorPanel } from '../../ui/ErrorPanel';
import { type GpuFields, GpuUse } from '../../ui/GpuUse';
import { ItemLink } from '../../ui/ItemLink';
import { ItemState } from '../../ui/ItemState';
import { NodeLink } from '../../ui/NodeLabel';
import { Time } from '../../ui/Time';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import { Json } from '../../ui/Value';
import { WhyPending } from '../../ui/WhyPending';
import css from './EntityDetails.module.css';
import { bundlesOf } from './EntityState';
import { EntityView } from './EntityView';
import shared from './entities.module.css';
import { ProgressCount, ProgressTable, useEntityProgress } from './ProgressTable';

/** The fields of a state change that are shown. Ray reports more, depending on the kind of entity. */
type StateChange = {
  time_ns: Ns;
  state: string;
  node_id?: string;
  worker_id?: string;
  death_reason?: string;
  death_message?: string;
  message?: string;
  /** Set if the actor restarts: its previous worker, and why that ended. */
  ended_worker_id?: string;
  causes?: DeathLink[];
  /** Set if Ray did not report this end: the reason why it must have ended. */
  end_known_by?: string;
};

/** Whether a step differs from the one before it. Ray may report a state twice. */
const isChange = (step: StateChange, at: number, all: readonly StateChange[]) =>
  (
    ['state', 'node_id', 'worker_id', 'ended_worker_id', 'death_reason', 'death_message', 'message'] as const
  ).some((field) => step[field] !== all[at - 1]?.[field]);

/** All recorded state changes of an actor. */
function History({ id }: { id: string }) {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  const item = useAnswer('/actors/{actor_id}', { actor_id: id, session: url.session });
  const causeText = useCauseText();
  if (item.data === undefined) return null;
  const history = item.data.history as StateChange[];
  const reasonOf = (step: StateChange) =>
    step.end_known_by === undefined
      ? causeText(step.causes ?? []) || (step.death_reason ?? step.death_message ?? step.message ?? '')
      : t('jobs.endInferred');
  return (
    <Section title={t('jobs.history')} testId="item-history">
      {history.length === 0 && (
        <Box component="p" className={words.dim} my={6}>
          {t('jobs.noHistory')}
        </Box>
      )}
      <ol className={css.itemHistory}>
        {history.filter(isChange).map((step) => (
          <li key={`${step.time_ns} ${step.state}`}>
            <Time ns={step.time_ns} exact />
            <ItemState state={step.state} />
            <span className={`${words.dim} ${words.breaks} ${css.reason}`} title={reasonOf(step)}>
              {headline(reasonOf(step))}
              {step.node_id !== undefined && step.death_reason === undefined && (
                <NodeLink id={step.node_id} />
              )}
              {step.ended_worker_id !== undefined && (
                <>
                  {' '}
                  <ItemLink view="workers" id={step.ended_worker_id} />
                </>
              )}
            </span>
          </li>
        ))}
      </ol>
    </Section>
  );
}

const WAITING = new Set([
  'PENDING_CREATION',
  'DEPENDENCIES_UNREADY',
  'RESTARTING',
  'PENDING',
  'RESCHEDULING',
]);

function ActorProgress({ id }: { id: string }) {
  const { t } = useTranslation();
  const { data, error } = useEntityProgress('actor_id', id);
  if (data === undefined) return error === null ? null : <ErrorPanel error={error} />;
  return (
    <Section
      title={t('jobs.progress')}
      testId="job-progress"
      right={
        <span className={`${words.num} ${words.dim}`}>
          <ProgressCount progress={data} />
        </span>
      }
    >
      <ProgressTable progress={data} id={id} filter="actor_id" />
    </Section>
  );
}

export function ActorDetail({ actor }: { actor: Item }) {
  const id = String(actor.actor_id);
  const { t } = useTranslation();
  return (
    <>
      {(WAITING.has(String(actor.state)) || actor.worker_id === null) && (
        <WhyPending
          is={(one) =>
            one.id === id ||
            // Pending actors of one class that have the same reason form one entry.
            (one.kind === 'actor' &&
              one.id === null &&
              one.name === actor.class_name &&
              one.job_id === actor.job_id)
          }
        />
      )}
      <DeathCause kind="actor" id={id} />
      {actor.gpu_scope && (
        <Section title={t('column.gpuBusy')} testId="gpu-use">
          <GpuUse use={actor as unknown as GpuFields} full />
        </Section>
      )}
      <ActorProgress id={id} />
      <History id={id} />
    </>
  );
}

export function ActorsPage() {
  return <EntityView view="actors" extras={{ detail: (actor) => <ActorDetail actor={actor} /> }} />;
}

const SHOWN_ELSEWHERE: ReadonlySet<string> = new Set(['bundles']);

export function PlacementGroupsPage() {
  return (
    <EntityView
      view="placement-groups"
      extras={{ detail: (group) => <GroupDetail group={group} />, hide: SHOWN_ELSEWHERE }}
    />
  );
}

function GroupDetail({ group }: { group: Item }) {
  const { t } = useTranslation();
  return (
    <>
      {(WAITING.has(String(group.state)) || group.end_known_by !== null) && (
        <WhyPending is={(one) => one.id === group.placement_group_id} />
      )}
      <Section title={t('jobs.bundles')}>
        <table className={shared.jobFunctions} data-testid="bundles">
          <thead>
            <tr>
              <th>{t('jobs.bundle')}</th>
              <th>{t('jobs.resources')}</th>
              <th>{t('jobs.node')}</th>
            </tr>
          </thead>
          <tbody>
            {bundlesOf(group).map((bundle) => (
              <tr key={bundle.index}>
                <td className={words.num}>{bundle.index}</td>
                <td>
                  <Json value={bundle.resources} />
                </td>
                <td>
                  {bundle.node_id ? (
                    <NodeLink id={bundle.node_id} />
                  ) : (
                    <span className={words.dim}>{t('jobs.notPlaced')}</span>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Section>
    </>
  );
}
