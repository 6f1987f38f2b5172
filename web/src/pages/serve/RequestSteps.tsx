import { useTranslation } from 'react-i18next';
import type { ServeRequest, ServeRequestStep } from '../../api/schema';
import { duration } from '../../base/format';
import { Duration } from '../../ui/Duration';
import words from '../../ui/theme/words.module.css';
import { LogLink } from './ReplicaTable';
import { type Part, stepParts } from './serve';
import css from './serve.module.css';

/** The steps of a request, one below the other, on one time scale. */
export function RequestSteps({ request }: { request: ServeRequest }) {
  const { t } = useTranslation();
  const begin = Math.min(...request.steps.map((one) => one.begin_ns));
  const whole = Math.max(1, ...request.steps.map((one) => one.end_ns - begin));
  return (
    <div className={css.steps} data-testid="request-steps">
      {request.steps.map((one, at) => (
        // A deployment may be called several times, even concurrently.
        // biome-ignore lint/suspicious/noArrayIndexKey: the steps of a request never change
        <div key={at} className={css.step} data-testid="request-step">
          <span className={words.ellipsis} style={{ paddingLeft: 14 * one.depth }} title={nameOf(one)}>
            {one.deployment ?? t('serve.requests.part.proxy')}
          </span>
          <Bar step={one} from={(one.begin_ns - begin) / whole} share={(one.end_ns - one.begin_ns) / whole} />
          <span style={{ textAlign: 'right' }}>
            <Duration ns={one.end_ns - one.begin_ns} />
          </span>
          <span
            className={`${words.ellipsis} ${one.failed ? css.errors : words.dim}`}
            title={one.error ?? (one.replica_ns === null ? t('serve.requests.noReplica') : undefined)}
          >
            {one.error ?? one.status ?? (one.replica_ns === null && t('serve.requests.noReplica'))}
          </span>
          <span>
            <LogLink node={one.node_id} file={one.log_file} />
          </span>
        </div>
      ))}
    </div>
  );
}

function nameOf(step: ServeRequestStep): string {
  return [step.application, step.deployment].filter(Boolean).join(' / ');
}

function Bar({ step, from, share }: { step: ServeRequestStep; from: number; share: number }) {
  const { t } = useTranslation();
  const parts = stepParts(step);
  const title = parts
    .map(([part, ns]: [Part, number]) => `${t(`serve.requests.part.${part}`)}: ${duration(ns)}`)
    .join('\n');
  return (
    <span className={css.track} role="img" aria-label={title} title={title}>
      <span className={css.bar} style={{ left: `${100 * from}%`, width: `${100 * share}%` }}>
        {parts.map(([part, ns]) => (
          <span key={part} className={css.part} data-part={part} style={{ flexGrow: ns }} />
        ))}
      </span>
    </span>
  );
}
