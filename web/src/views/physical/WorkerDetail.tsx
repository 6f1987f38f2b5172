import { useTranslation } from 'react-i18next';
import type { NodeAnswer, NodeWorker } from '../../api/schema';
import { bytes, shortId } from '../../base/format';
import { toFlow, toItem, withFilter, withSettings } from '../../base/url';
import { CopyId } from '../../ui/CopyId';
import { Dash } from '../../ui/Dash';
import { Field, Fields, Section } from '../../ui/Drawer';
import { ItemState } from '../../ui/ItemState';
import { JobLink } from '../../ui/JobName';
import { Link } from '../../ui/Link';
import { RunningList } from '../../ui/Running';
import { useSessionUrl } from '../../ui/useUrl';
import panels from '../shared/panels.module.css';
import { resourceText } from './physicalNames';
import { Since } from './Since';
import { tasksAt } from './tasksAt';

/** A worker at one moment: what it runs, and what it holds. */
export function WorkerDetail(props: { worker: NodeWorker; answer: NodeAnswer; at: number | null }) {
  const { worker, answer, at } = props;
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  const bundle = answer.bundles[worker.bundle];
  return (
    <>
      <Section title={t('physical.runs')}>
        <RunningList
          worker={worker}
          now={at ?? undefined}
          none={t(Object.keys(url.filters).length > 0 ? 'physical.noMatch' : 'physical.runsNothing')}
        />
      </Section>
      <Section title={t('common.details')}>
        <Fields>
          <Field name="Id">
            <CopyId id={worker.worker_id} />
          </Field>
          <Field name="pid">{worker.pid ?? <Dash />}</Field>
          <Field name={t('physical.type')}>{worker.kind}</Field>
          {worker.actor_id !== null && (
            <>
              <Field name={t('physical.actor')}>
                <Link to={toItem(url, 'actors', worker.actor_id)} testId="physical-to-actor">
                  {worker.actor_name || worker.actor_class || shortId(worker.actor_id)}
                </Link>
              </Field>
              <Field name={t('physical.actorState')}>
                <ItemState state={worker.actor_state} />
              </Field>
            </>
          )}
          {worker.job_id !== null && (
            <Field name={t('physical.job')}>
              <JobLink id={worker.job_id} />
            </Field>
          )}
          <Field name={t('physical.reserved')}>{resourceText(worker.reserved) || <Dash />}</Field>
          {bundle !== undefined && (
            <Field name={t('physical.inBundle')}>
              <Link to={toItem(url, 'placement-groups', bundle.group)}>
                {t('physical.bundle', { name: bundle.name || shortId(bundle.group), index: bundle.index })}
              </Link>
            </Field>
          )}
          <Field name={t('physical.bytes')}>{bytes(worker.bytes)}</Field>
          <Field name={t('physical.since')}>
            {worker.start_ns === null ? <Dash /> : <Since ns={worker.start_ns} at={at} />}
          </Field>
        </Fields>
        <div className={panels.links}>
          <Link to={toItem(url, 'workers', worker.worker_id)}>{t('physical.toWorker')}</Link>
          <Link to={withFilter(toFlow(url, 'gantt'), 'worker_id', worker.worker_id)}>
            {t('physical.toGantt')}
          </Link>
          {worker.actor_id !== null && (
            <Link
              to={withSettings(withFilter(toFlow(url, 'gantt'), 'actor_id', worker.actor_id), {
                by: 'actor',
              })}
            >
              {t('physical.actorGantt')}
            </Link>
          )}
          <Link to={tasksAt(withFilter(url, 'worker_id', worker.worker_id), at)}>
            {t('physical.toTasks')}
          </Link>
        </div>
      </Section>
    </>
  );
}
