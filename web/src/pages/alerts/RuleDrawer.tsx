import { useTranslation } from 'react-i18next';
import type { AlertEvent, AlertInfo, RuleInfo } from '../../api/schema';
import { short, wholeAge } from '../../base/format';
import { useSeverityName } from '../../ui/alerts/severity';
import { useAnnotations } from '../../ui/alerts/useAnnotations';
import { ChartGroup } from '../../ui/charts/ChartGroup';
import { MetricChart } from '../../ui/charts/MetricChart';
import { Drawer, Field, Fields, Section } from '../../ui/Drawer';
import { useSessionUrl } from '../../ui/useUrl';
import { AlertList } from './AlertList';
import shared from './alerts.module.css';
import { HistoryTab } from './HistoryTab';
import { RuleButtons } from './RuleButtons';
import css from './RuleDrawer.module.css';
import { RuleTest } from './RuleTest';
import { withPlaceholders } from './template';

/** A rule in full: its definition, its value over time, its alerts and their history. */
export function RuleDrawer(props: {
  rule: RuleInfo;
  alerts: readonly AlertInfo[];
  events: readonly AlertEvent[];
  now: number;
  live: boolean;
}) {
  const { rule, alerts, events, now, live } = props;
  const { t } = useTranslation();
  const [, change] = useSessionUrl();
  const annotations = useAnnotations();
  const severityName = useSeverityName();
  return (
    <Drawer
      testId="rule-drawer"
      title={rule.name}
      subtitle={`${severityName(rule.severity)} · ${rule.enabled ? t(`alerts.state.${rule.state}`) : t('alerts.off')}`}
      onClose={() => change((before) => ({ ...before, item: undefined, wide: undefined }))}
    >
      {alerts.length > 0 && (
        <div className={css.alerts}>
          <AlertList alerts={alerts} now={now} live={live} />
        </div>
      )}
      <Section title={t('alerts.courseTitle')}>
        <ChartGroup>
          <MetricChart
            title={rule.name}
            queries={[{ expr: rule.value_expr ?? rule.expr }]}
            threshold={rule.threshold ?? undefined}
            height={180}
          />
        </ChartGroup>
      </Section>
      <Section title={t('alerts.rule')} right={<RuleButtons rule={rule} />}>
        <Fields>
          <Field name={t('alerts.condition')}>
            <code className={shared.expr}>{rule.expr}</code>
            <RuleTest expr={rule.expr} forS={rule.for_s} />
          </Field>
          {rule.threshold !== null && (
            <Field name={t('alerts.threshold')}>
              {rule.op} {short(rule.threshold)}
            </Field>
          )}
          {rule.for_s > 0 && <Field name={t('alerts.holdsFor')}>{wholeAge(rule.for_s * 1000)}</Field>}
          {rule.keep_firing_for_s > 0 && (
            <Field name={t('alerts.keepsFiring')}>{wholeAge(rule.keep_firing_for_s * 1000)}</Field>
          )}
          <Field name={t('alerts.every')}>{wholeAge(rule.interval_s * 1000)}</Field>
          <Field name={t('alerts.from')}>
            {rule.source === 'shipped' ? t('alerts.shipped') : rule.source} · {rule.group}
          </Field>
          {Object.entries(annotations(rule.annotations)).map(([name, text]) => (
            <Field key={name} name={t(`alerts.annotation.${name as 'summary'}`, { defaultValue: name })}>
              {withPlaceholders(text)}
            </Field>
          ))}
          {Object.entries(rule.labels)
            .filter(([name]) => name !== 'severity')
            .map(([name, text]) => (
              <Field key={name} name={name}>
                {withPlaceholders(text)}
              </Field>
            ))}
        </Fields>
      </Section>
      <Section title={t('alerts.tab.history')}>
        <HistoryTab items={events} total={events.length} search="" />
      </Section>
    </Drawer>
  );
}
