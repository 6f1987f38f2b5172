import { useTranslation } from 'react-i18next';
import { useClusterStatus } from '../../api/useClusterStatus';
import { count, shapeText } from '../../base/format';
import { hasTypeName } from '../../base/nodeTitle';
import { toItem, toView, type Url, withSettings } from '../../base/url';
import { Panel, PanelBody, PanelText } from '../../ui/panels/Panel';
import { MAX_LINES, PanelLine } from '../../ui/panels/PanelLine';
import shared from '../../ui/panels/panelText.module.css';
import { ServerMessageLine } from '../../ui/ServerMessageLine';
import words from '../../ui/theme/words.module.css';
import { usePunctuation } from '../../ui/usePunctuation';
import { useReasonText } from '../../ui/useReasonText';
import { useSessionUrl } from '../../ui/useUrl';
import { oneLine } from '../../ui/Value';

/** Pending demand with reasons, and the autoscaler's reaction. */
export function PendingPanel({ live }: { live: boolean }) {
  const { t, i18n } = useTranslation();
  const [url] = useSessionUrl();
  const status = useClusterStatus(url.session);
  const reasonText = useReasonText();
  const { stop } = usePunctuation();
  if (!live && !status.data?.pending.length) return null;
  const scaler = status.data?.autoscaler ?? null;
  return (
    <Panel
      title={t(live ? 'overview.pending' : 'overview.pendingEnded')}
      note={status.data && count(status.data.pending.reduce((sum, one) => sum + one.count, 0))}
      to={live ? withSettings(toView(url, 'nodes'), { mode: 'resources' }) : undefined}
      testId="panel-pending"
    >
      <PanelBody data={status.data} error={status.error}>
        {(data) => (
          <>
            {data.error !== null ? (
              <PanelText>
                <ServerMessageLine of={data} />
              </PanelText>
            ) : data.pending.length === 0 ? (
              <PanelText good>{t('overview.noPending')}</PanelText>
            ) : (
              <ul>
                {data.pending.slice(0, MAX_LINES).map((one) => (
                  <PanelLine
                    key={`${one.kind} ${one.name} ${one.id} ${one.job_id} ${one.reason.code}`}
                    tone={!live ? 'quiet' : one.reason.never ? 'bad' : 'waiting'}
                    ns={one.since_ns}
                    to={pendingLink(url, one, live)}
                    name={one.name || t(`overview.kind.${one.kind === 'actor' ? 'actor' : 'task'}`)}
                    text={`${asks(one.resources)}${stop}${reasonText(one.reason)}`}
                    times={one.count}
                  />
                ))}
              </ul>
            )}
            {data.pending.length > MAX_LINES && (
              <PanelText>
                {t('overview.morePending', {
                  n: count(data.pending.length - MAX_LINES + data.pending_left_out),
                })}
              </PanelText>
            )}
            <p className={`${shared.panelText} ${words.dim}`} data-testid="autoscaler">
              {scaler === null
                ? t(live ? 'overview.noAutoscaler' : 'overview.noAutoscalerEnded')
                : t('overview.autoscaler', {
                    active: types(scaler.active),
                    idle: types(scaler.idle),
                    pending: types(scaler.pending),
                  })}
              {scaler?.failed.slice(0, 2).map(([type, why]) => (
                <span key={type} className={words.breaks}>
                  {' '}
                  {t('overview.autoscalerFailed', { type, why })}
                </span>
              ))}
              {(scaler?.infeasible.length ?? 0) > 0 && (
                <>
                  {' '}
                  {t('overview.autoscalerInfeasible', {
                    what: scaler?.infeasible
                      .slice(0, 3)
                      .map((one) => oneLine(one))
                      .join('; '),
                  })}
                </>
              )}
            </p>
          </>
        )}
      </PanelBody>
    </Panel>
  );

  function asks(resources: Record<string, number>): string {
    if (Object.keys(resources).length === 0) return t('overview.asksNothing');
    return t('overview.asks', { what: shapeText(resources) });
  }

  function types(numbers: Record<string, number>): string {
    const sums = new Map<string, number>();
    for (const [type, number] of Object.entries(numbers)) {
      const name = hasTypeName(type) ? type : '';
      sums.set(name, (sums.get(name) ?? 0) + number);
    }
    const list = [...sums].map(([name, number]) =>
      name === '' ? t('overview.nodes', { n: count(number) }) : `${count(number)} ${name}`,
    );
    return list.length === 0 ? '0' : list.join(i18n.language === 'zh' ? '、' : ', ');
  }
}

/** A link to the pending tasks, actors or placement group. */
function pendingLink(
  url: Parameters<typeof toView>[0],
  one: { kind: string; name: string; id: string | null; job_id: string | null },
  live: boolean,
): Url {
  if (one.kind === 'placement_group')
    return one.id === null ? toView(url, 'placement-groups') : toItem(url, 'placement-groups', one.id);
  if (one.kind === 'actor')
    return toView(url, 'actors', { q: one.name, ...(live && { state: 'PENDING_CREATION' }) });
  return toView(url, 'tasks', {
    func_name: one.name,
    ...(live && { state: 'PENDING_NODE_ASSIGNMENT' }),
    ...(one.job_id !== null && { job_id: one.job_id }),
  });
}
