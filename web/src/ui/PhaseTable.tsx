import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { duration, percent } from '../base/format';
import { PHASE_STATES, type SchedulingPhase } from '../base/scheduling';
import { stateColor } from '../base/tokens';
import { Dash } from './Dash';
import { Dot } from './Dot';
import { Duration } from './Duration';
import plain from './theme/plainTable.module.css';
import timeline from './theme/timeline.module.css';
import words from './theme/words.module.css';

/**
 * Time by scheduling phase: a bar, `children`, and a table that also shows each phase as a share of `all`.
 * `isRetry` is set if all of it is that of a retry.
 */
export function PhaseTable(props: {
  parts: readonly { phase: SchedulingPhase; spent: number }[];
  all: number;
  isRetry?: boolean;
  children?: ReactNode;
}) {
  const { parts, all } = props;
  const { t } = useTranslation();
  return (
    <>
      <div className={timeline.bar}>
        {parts.map(
          ({ phase, spent }) =>
            spent > 0 && (
              <span
                key={phase}
                title={`${t(`flow.phase.${phaseKey(phase, props.isRetry)}`)}: ${duration(spent)}`}
                style={{ flexGrow: spent / all, background: stateColor(PHASE_STATES[phase]) }}
              />
            ),
        )}
      </div>
      {props.children}
      <table className={`${plain.table} ${plain.timeline}`}>
        <tbody>
          {parts.map(({ phase, spent }) => (
            <tr key={phase} data-phase={phase} title={t(`flow.phaseHint.${phaseKey(phase, props.isRetry)}`)}>
              <td>
                <span className={words.state}>
                  <Dot color={stateColor(PHASE_STATES[phase])} />
                  {t(`flow.phase.${phaseKey(phase, props.isRetry)}`)}
                </span>
              </td>
              <td data-align="right">{spent > 0 ? <Duration ns={spent} /> : <Dash />}</td>
              <td data-align="right" className={`${words.num} ${words.dim}`}>
                {spent > 0 ? `${percent(spent / all)}%` : ''}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

/**
 * The key of a phase's texts. Ray reports one time for the wait before a retry and for the retry's arguments.
 */
export const phaseKey = (phase: SchedulingPhase, isRetry = false) =>
  isRetry && phase === 'waiting_args' ? 'waiting_retry' : phase;
