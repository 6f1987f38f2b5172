import { useTranslation } from 'react-i18next';
import type { Summary } from '../../api/types';
import { count, shortId } from '../../base/format';
import { toView } from '../../base/url';
import { useSessionUrl } from '../../ui/useUrl';
import { Panel, PanelBody, PanelText } from './Panel';
import { MAX_LINES, PanelLine } from './PanelLine';

/** The newest failures, each a way to the whole of it. */
export function FailuresPanel({ summary }: { summary: Summary | undefined }) {
  const { t } = useTranslation();
  const [url] = useSessionUrl();
  const failed = summary?.states.FAILED ?? 0;
  return (
    <Panel
      title={t('overview.failures')}
      note={summary && count(failed)}
      to={toView(url, 'failures')}
      testId="panel-failures"
    >
      <PanelBody data={summary?.failures} error={null} isMissing={false} missing="">
        {(failures) =>
          failures.length === 0 ? (
            <PanelText good={failed === 0}>
              {t(failed === 0 ? 'overview.noFailures' : 'overview.failuresElsewhere')}
            </PanelText>
          ) : (
            <ul>
              {failures.slice(0, MAX_LINES).map((one) => (
                <PanelLine
                  key={`${one.task_id} ${one.attempt}`}
                  tone="bad"
                  ns={one.end_ns}
                  to={{ ...url, task: one.task_id, attempt: one.attempt }}
                  name={one.name ?? shortId(one.task_id)}
                  text={one.error_summary ?? one.error_message ?? ''}
                />
              ))}
            </ul>
          )
        }
      </PanelBody>
    </Panel>
  );
}
