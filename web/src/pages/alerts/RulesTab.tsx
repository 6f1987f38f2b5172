import { Anchor, Box } from '@mantine/core';
import { IconDownload } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { apiPath } from '../../api/path';
import type { RuleInfo, RulesAnswer } from '../../api/schema';
import { short, wholeAge } from '../../base/format';
import { Severity } from '../../ui/alerts/Severity';
import { alertTone, severityTone } from '../../ui/alerts/severity';
import { useAnnotations } from '../../ui/alerts/useAnnotations';
import { Dot } from '../../ui/Dot';
import plain from '../../ui/theme/plainTable.module.css';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import { AlertSparkline } from './AlertSparkline';
import shared from './alerts.module.css';
import { EditButton } from './EditButton';
import { ProblemText } from './ProblemText';
import { RuleButtons } from './RuleButtons';
import { withPlaceholders } from './template';
import { useAlertActions } from './useAlertActions';
import { useAlertSeries } from './useAlerts';

/** All rules, each with its state, its expression and the values in the last hour. */
export function RulesTab({ rules, search }: { rules: RulesAnswer; search: string }) {
  const { t } = useTranslation();
  const [, change] = useSessionUrl();
  const actions = useAlertActions();
  const wanted = search.toLowerCase();
  const shown = rules.items.filter((rule) =>
    `${rule.name} ${rule.severity} ${rule.group} ${rule.expr} ${Object.values(rule.annotations).join(' ')}`
      .toLowerCase()
      .includes(wanted),
  );
  return (
    <>
      <Box mb="sm">
        <EditButton kind="rule" action="add" onClick={() => void actions.editRule()} />
      </Box>
      <div className={shared.tableWrap}>
        <table className={plain.table} data-testid="alert-rules">
          <thead>
            <tr>
              <th>{t('alerts.rule')}</th>
              <th>{t('alerts.stateColumn')}</th>
              <th className={shared.course}>{t('alerts.course')}</th>
              <th>{t('alerts.condition')}</th>
              <td />
            </tr>
          </thead>
          <tbody>
            {shown.map((rule) => (
              <tr
                key={`${rule.name} ${rule.enabled}`}
                data-testid="alert-rule"
                data-name={rule.name}
                data-off={!rule.enabled || undefined}
              >
                <td>
                  <button
                    type="button"
                    className={shared.linkButton}
                    onClick={() => change((before) => ({ ...before, item: rule.name }))}
                  >
                    {rule.name}
                  </button>
                  <div className={`${words.dim} ${shared.small}`}>
                    <Severity severity={rule.severity} />{' '}
                    {rule.source === 'shipped' ? t('alerts.shipped') : rule.source}
                  </div>
                </td>
                <td>
                  {rule.enabled ? (
                    <span className={`${words.state} ${shared.state}`}>
                      <Dot color={`var(--rs-tone-${toneOf(rule)})`} />
                      {rule.error ? t('alerts.failing') : t(`alerts.state.${rule.state}`)}
                      {rule.alerts > 1 && <span className={`${words.num} ${words.dim}`}>{rule.alerts}</span>}
                    </span>
                  ) : (
                    <span className={words.dim}>{t('alerts.off')}</span>
                  )}
                </td>
                <td className={shared.course}>{rule.enabled && <RuleSparkline rule={rule} />}</td>
                <td>
                  <RuleText rule={rule} />
                  <div className={`${words.dim} ${shared.small}`}>
                    {[
                      rule.for_s > 0 && t('alerts.forLong', { time: wholeAge(rule.for_s * 1000) }),
                      rule.keep_firing_for_s > 0 &&
                        t('alerts.keeps', { time: wholeAge(rule.keep_firing_for_s * 1000) }),
                    ]
                      .filter(Boolean)
                      .join(' · ')}{' '}
                    {rule.problems[0] && <ProblemText of={rule.problems[0]} />}
                    {rule.unknown_metrics.length > 0 && (
                      <span data-testid="rule-unknown">
                        {t('alerts.unknownMetrics', { names: rule.unknown_metrics.join(', ') })}
                      </span>
                    )}
                  </div>
                </td>
                <td>
                  <RuleButtons rule={rule} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p className={`${words.dim} ${shared.small}`}>
        {t('alerts.rulesHint', { folder: rules.folder })}{' '}
        <Anchor
          inherit
          href={apiPath('/alerts/export')}
          download="rayscope-rules.yml"
          data-testid="alerts-export"
        >
          <IconDownload size={13} aria-hidden /> {t('alerts.export')}
        </Anchor>
      </p>
    </>
  );
}

/** The description of a rule, with its expression behind a click, or else the expression. */
function RuleText({ rule }: { rule: RuleInfo }) {
  const { summary, description } = useAnnotations()(rule.annotations);
  const expr = <code className={shared.expr}>{rule.expr}</code>;
  const text = description || summary;
  if (!text) return expr;
  return (
    <>
      {withPlaceholders(text)}
      <details className={shared.small}>
        <summary>PromQL</summary>
        {expr}
      </details>
    </>
  );
}

function toneOf(rule: RuleInfo): string {
  if (rule.error) return 'waiting';
  return rule.state === 'inactive' ? 'good' : alertTone(rule);
}

/** The value that is farthest beyond the threshold or, if none is beyond it, the closest to it. */
function worst(values: readonly (number | null)[], op: string | null): number | null {
  const known = values.filter((value) => value !== null);
  if (known.length === 0) return null;
  return op === '<' || op === '<=' || op === '==' ? Math.min(...known) : Math.max(...known);
}

function RuleSparkline({ rule }: { rule: RuleInfo }) {
  const { t } = useTranslation();
  const [url] = useSessionUrl();
  const expr = rule.value_expr ?? rule.expr;
  const answer = useAlertSeries(url.session, expr);
  const series = answer.data?.series.map((one) => one.values) ?? [];
  if (series.length === 0)
    return <span className={`${words.dim} ${shared.small}`}>{t('alerts.noValues')}</span>;
  const newest = series.map((values) => values.findLast((value) => value !== null) ?? null);
  const label = t('alerts.courseLabel', {
    value: newest.map(short).join(', '),
    threshold: short(rule.threshold),
  });
  return (
    <span className={shared.sparkline} title={label}>
      <AlertSparkline
        series={series}
        threshold={rule.threshold}
        label={label}
        tone={rule.state === 'firing' ? severityTone(rule.severity) : undefined}
      />
      <span className={`${words.num} ${shared.small}`}>{short(worst(newest, rule.op))}</span>
    </span>
  );
}
