import type { TFunction } from 'i18next';
import { useTranslation } from 'react-i18next';
import words from './theme/words.module.css';

/** Why a node does not use the fast lane, in words. */
export function laneReason(t: TFunction, code: string | null, reason: string | null): string {
  if (code === 'agent_said') return reason ?? t('lane.noReason');
  if (code === 'not_noted') return t('lane.notNoted');
  if (code === 'not_installed') return t('lane.notInstalled');
  if (code === 'no_events') return t('lane.noEvents');
  return t('lane.fastHint');
}

/**
 * How a node’s events arrive: by the fast lane, as Ray’s JSON, or not at all. The reason is a tooltip or,
 * with `whole`, shown next to it.
 */
export function LaneName(props: { lane: string; code: unknown; reason: unknown; whole?: boolean }) {
  const { t, i18n } = useTranslation();
  const name = i18n.exists(`lane.${props.lane}`) ? t(`lane.${props.lane}` as 'lane.fast') : props.lane;
  const why = laneReason(
    t,
    typeof props.code === 'string' ? props.code : null,
    typeof props.reason === 'string' ? props.reason : null,
  );
  if (props.whole) {
    return (
      <span className={words.breaks}>
        {name}
        {props.lane !== 'fast' && <span className={words.dim}> {why}</span>}
      </span>
    );
  }
  return (
    <span className={props.lane === 'fast' ? undefined : words.dim} title={why}>
      {name}
    </span>
  );
}
