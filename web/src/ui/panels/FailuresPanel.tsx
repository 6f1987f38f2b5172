import { useTranslation } from 'react-i18next';
import { useFailures } from '../../api/queries';
import type { FailureGroup, TasksByOutcome } from '../../api/schema';
import { count } from '../../base/format';
import { outcomeTones } from '../../base/tokens';
import { type Filters, NO_FILTERS, type SessionUrl, toView } from '../../base/url';
import { useFailureText } from '../DeathCause';
import { usePunctuation } from '../usePunctuation';
import { useSessionUrl } from '../useUrl';
import { Panel, PanelBody, PanelText } from './Panel';
import { MAX_LINES, PanelLine } from './PanelLine';

/** Failures by error, final ones first, each with a link to its latest traceback. */
export function FailuresPanel({ filters = NO_FILTERS }: { filters?: Filters }) {
  const { t } = useTranslation();
  const [url] = useSessionUrl();
  const failures = useFailures(url.session, filters);
  const textOf = useFailureText();
  const { comma } = usePunctuation();
  const becameOf = (tasks: TasksByOutcome) =>
    (['final', 'retrying', 'recovered'] as const)
      .filter((outcome) => tasks[outcome] > 0)
      .map((outcome) => t(`overview.failed.${outcome}`, { n: count(tasks[outcome]) }))
      .join(comma);
  return (
    <Panel
      title={t('overview.failures')}
      note={failures.data && becameOf(failures.data.tasks)}
      to={toView(url, 'failures', filters)}
      testId="panel-failures"
      wide
    >
      <PanelBody data={failures.data} error={failures.error}>
        {({ items }) =>
          items.length === 0 ? (
            <PanelText good>{t('overview.noFailures')}</PanelText>
          ) : (
            <ul>
              {items.slice(0, MAX_LINES).map((group) => (
                <PanelLine
                  key={JSON.stringify([
                    group.func_name,
                    group.error_type,
                    group.message,
                    group.file,
                    group.line,
                  ])}
                  tone={outcomeTones[group.outcome]}
                  ns={group.last_ns}
                  to={latestOf(group, url, filters)}
                  name={group.func_name ?? '?'}
                  times={group.attempts}
                  text={`${t(`failures.outcomes.${group.outcome}`)} · ${textOf(group)}`}
                />
              ))}
            </ul>
          )
        }
      </PanelBody>
    </Panel>
  );
}

function latestOf({ latest, func_name }: FailureGroup, url: SessionUrl, filters: Filters): SessionUrl {
  const [newest] = latest;
  return newest === undefined
    ? toView(url, 'failures', { ...filters, ...(func_name && { func_name }) })
    : { ...url, task: newest.task_id, attempt: newest.attempt };
}
