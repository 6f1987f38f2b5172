import { Group, Select, Stack, Textarea, TextInput } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { RuleInfo } from '../../api/schema';
import words from '../../ui/theme/words.module.css';
import { useDraft } from '../../ui/useDraft';
import { RuleTest } from './RuleTest';

/** A rule as entered in the form. */
interface RuleDraft {
  name: string;
  expr: string;
  for: string;
  keep: string;
  severity: string;
  summary: string;
  description: string;
}

export function ruleDraft(rule?: RuleInfo): RuleDraft {
  return {
    name: rule?.name ?? '',
    expr: rule?.expr ?? '',
    for: String(rule?.for_s ?? 60),
    keep: String(rule?.keep_firing_for_s ?? 60),
    severity: rule?.severity ?? 'warning',
    summary: rule?.annotations.summary ?? '',
    description: rule?.annotations.description ?? '',
  };
}

/** The body of PUT /api/v1/alerts/rules/NAME. Fields that the form does not show keep their values. */
export function ruleBody(draft: RuleDraft, before?: RuleInfo): object {
  const texts = { summary: draft.summary.trim(), description: draft.description.trim() };
  const annotations: Record<string, string> = { ...before?.annotations, ...texts };
  // The Chinese text would no longer match the English one, which was changed.
  for (const name of ['summary', 'description'] as const)
    if (texts[name] !== before?.annotations[name]) delete annotations[`${name}_zh`];
  return {
    expr: draft.expr.trim(),
    for_s: Number(draft.for),
    keep_firing_for_s: Number(draft.keep),
    labels: { ...before?.labels, severity: draft.severity },
    annotations: Object.fromEntries(Object.entries(annotations).filter(([, text]) => text !== '')),
  };
}

/** The form of a rule. It changes `draft` in place; the values are sent when the user confirms. */
export function RuleForm({ draft, isNew }: { draft: RuleDraft; isNew: boolean }) {
  const { t } = useTranslation();
  const [shown, set] = useDraft(draft);
  const field = (name: keyof RuleDraft) => ({
    label: t(`alerts.form.${name}`),
    value: shown[name],
    onChange: (event: { currentTarget: { value: string } }) => set({ [name]: event.currentTarget.value }),
    'data-testid': `rule-${name}`,
  });
  return (
    <Stack gap="sm">
      <TextInput
        {...field('name')}
        required
        disabled={!isNew}
        maxLength={100}
        data-autofocus={isNew || undefined}
      />
      <Textarea
        {...field('expr')}
        description={t('alerts.form.exprHint')}
        required
        autosize
        classNames={{ input: words.mono }}
      />
      <RuleTest expr={shown.expr} forS={Number(shown.for)} />
      <Group grow>
        <TextInput {...field('for')} type="number" min={0} />
        <TextInput {...field('keep')} type="number" min={0} />
        <Select
          label={t('alerts.form.severity')}
          allowDeselect={false}
          value={shown.severity}
          onChange={(severity) => set({ severity: severity ?? 'warning' })}
          data={[...new Set(['critical', 'warning', 'info', shown.severity])]}
        />
      </Group>
      <TextInput {...field('summary')} description={t('alerts.form.summaryHint')} />
      <TextInput {...field('description')} />
    </Stack>
  );
}
