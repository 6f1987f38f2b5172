import { useTranslation } from 'react-i18next';
import { useSessionUrl } from '../app/useUrl';
import { Drawer, Field, Fields, Section } from '../components/Drawer';
import { ChartGroup } from '../metrics/ChartGroup';
import { MetricChart } from '../metrics/MetricChart';
import { AlertList, number } from './AlertList';
import { HistoryTab } from './OtherTabs';
import type { Alert, AlertEvent, Rule } from './types';
import { useAnnotations } from './useAnnotations';

/** All of one rule: what it says, how its value went, its alerts and what happened to them. */
export function RuleDrawer(props: {
  rule: Rule;
  alerts: readonly Alert[];
  events: readonly AlertEvent[];
  now: number;
  live: boolean;
}) {
  const { rule, alerts, events, now, live } = props;
  const { t } = useTranslation();
  const [, change] = useSessionUrl();
  const annotations = useAnnotations();
  return (
    <Drawer
      testId="rule-drawer"
      title={rule.name}
      subtitle={`${rule.severity} · ${rule.enabled ? t(`alerts.state.${rule.state}`) : t('alerts.off')}`}
      onClose={() => change((before) => ({ ...before, item: undefined, wide: undefined }))}
    >
      {alerts.length > 0 && (
        <div className="rs-drawer-alerts">
          <AlertList alerts={alerts} now={now} live={live} />
        </div>
      )}
      <Section title={t('alerts.courseTitle')}>
        <ChartGroup>
          <MetricChart title={rule.name} queries={[{ expr: rule.value_expr ?? rule.expr }]} height={180} />
        </ChartGroup>
      </Section>
      <Section title={t('alerts.rule')}>
        <Fields>
          <Field name={t('alerts.condition')}>
            <code className="rs-alert-expr">{rule.expr}</code>
          </Field>
          {rule.threshold !== null && (
            <Field name={t('alerts.threshold')}>
              {rule.op} {number(rule.threshold)}
            </Field>
          )}
          <Field name="for">{rule.for_s} s</Field>
          <Field name="keep_firing_for">{rule.keep_firing_for_s} s</Field>
          <Field name={t('alerts.every')}>{rule.interval_s} s</Field>
          <Field name={t('alerts.from')}>
            {rule.source === 'shipped' ? t('alerts.shipped') : rule.source} · {rule.group}
          </Field>
          {Object.entries({ ...rule.labels, ...annotations(rule.name, rule.annotations) }).map(
            ([name, text]) => (
              <Field key={name} name={name}>
                {text}
              </Field>
            ),
          )}
        </Fields>
      </Section>
      <Section title={t('alerts.tab.history')}>
        <HistoryTab items={events} total={events.length} search="" />
      </Section>
    </Drawer>
  );
}
