import { useTranslation } from 'react-i18next';
import type { AttemptDetail, TaskDetail } from '../../api/schema';
import { toView } from '../../base/url';
import { CopyButton } from '../../ui/CopyButton';
import { CopyId } from '../../ui/CopyId';
import { Field, Fields, Section } from '../../ui/Drawer';
import { Duration } from '../../ui/Duration';
import { Gpus } from '../../ui/Gpus';
import { GpuUse } from '../../ui/GpuUse';
import { ItemLink } from '../../ui/ItemLink';
import { Link } from '../../ui/Link';
import { PeakMemory } from '../../ui/PeakMemory';
import { Time } from '../../ui/Time';
import { useTypeName } from '../../ui/taskColumns';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import { isEmpty, Json } from '../../ui/Value';
import css from './AttemptIdentity.module.css';

/** Identity of the attempt, and where it ran. */
export function AttemptIdentity({ task, attempt }: { task: TaskDetail; attempt: AttemptDetail }) {
  const [url] = useSessionUrl();
  const { t, i18n } = useTranslation();
  const typeName = useTypeName(t, i18n.exists);
  return (
    <Section title={t('task.identity')}>
      <Fields>
        <Field name={t('column.task_id')}>
          <CopyId id={task.task_id} full />
        </Field>
        <Field name={t('column.func_name')}>
          {attempt.func_name ? (
            <Link to={toView(url, 'tasks', { func_name: attempt.func_name })} title={t('task.sameFunction')}>
              {attempt.func_name}
            </Link>
          ) : (
            '–'
          )}
        </Field>
        <Field name={t('column.type')}>{typeName(attempt.type)}</Field>
        <Field name={t('column.created')}>
          <Time ns={attempt.created_ns} full />
        </Field>
        <Field name={t('column.start')}>
          <Time ns={attempt.start_ns} full />
        </Field>
        <Field name={t('column.end')}>
          <Time ns={attempt.end_ns} full />
        </Field>
        <Field name={t('column.job')}>
          <ItemLink view="jobs" id={attempt.job_id} />
        </Field>
        <Field name={t('column.node')}>
          <ItemLink view="nodes" id={attempt.node_id} />
        </Field>
        <Field name={t('column.worker')}>
          <ItemLink view="workers" id={attempt.worker_id} />
          {attempt.worker_pid !== null && (
            <span className={`${words.num} ${words.dim}`}> PID {attempt.worker_pid}</span>
          )}
        </Field>
        {attempt.cpu_ns !== null && (
          <Field name={t('column.cpu')}>
            <Duration ns={attempt.cpu_ns} />
          </Field>
        )}
        {attempt.end_ns !== null && (
          <Field name={t('column.peakMemory')}>
            <PeakMemory attempt={attempt} full />
          </Field>
        )}
        {attempt.actor_id && (
          <Field name={t('column.actor')}>
            <ItemLink view="actors" id={attempt.actor_id} /> {attempt.actor_repr_name}
          </Field>
        )}
        {attempt.placement_group_id && (
          <Field name={t('column.placement_group')}>
            <ItemLink view="placement-groups" id={attempt.placement_group_id} />
          </Field>
        )}
        {attempt.language && <Field name={t('task.language')}>{attempt.language}</Field>}
        {!isEmpty(attempt.required_resources) && (
          <Field name={t('task.resources')}>
            <Json value={attempt.required_resources} />
          </Field>
        )}
        {attempt.gpus.length > 0 && (
          <Field name={t('field.gpus')}>
            <Gpus gpus={attempt.gpus} />
          </Field>
        )}
        {attempt.gpu_scope !== null && (
          <Field name={t('column.gpuBusy')}>
            <GpuUse use={attempt} full />
          </Field>
        )}
        {!isEmpty(attempt.label_selector) && (
          <Field name={t('task.labelSelector')}>
            <Json value={attempt.label_selector} />
          </Field>
        )}
        {!isEmpty(attempt.runtime_env) && (
          <Field name={t('task.runtimeEnv')}>
            <Json value={attempt.runtime_env} />
          </Field>
        )}
        {(attempt.stdout_file || attempt.stderr_file) && (
          <Field name={t('task.logs')}>
            <LogFile file={attempt.stdout_file} />
            <LogFile file={attempt.stderr_file} />
          </Field>
        )}
      </Fields>
      {attempt.call_site && (
        <>
          <h4 className={css.minor}>{t('task.callSite')}</h4>
          <pre className={words.pre}>{attempt.call_site}</pre>
        </>
      )}
    </Section>
  );
}

function LogFile({ file }: { file: string | null }) {
  if (!file) return null;
  return (
    <span className={css.log}>
      <span className={`${words.mono} ${words.breaks}`}>{file}</span>
      <CopyButton text={file} />
    </span>
  );
}
