import { SegmentedControl, Stack, Text, TextInput } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { load, save } from '../../base/storage';
import { useDraft } from '../../ui/useDraft';

/** The form values of an action. The request body is built from them when the user confirms. */
export interface Draft {
  by: string;
  comment: string;
  duration_s: number;
}

const HOURS = [1, 4, 24, 168];

export function newDraft(): Draft {
  return { by: load('operator-name') ?? '', comment: '', duration_s: 3600 };
}

/**
 * The fields of an action: the operator's name, a comment and, for a silence, its duration. It changes
 * `draft` in place; the values are sent when the user confirms.
 */
export function DraftForm({ draft, text, timed }: { draft: Draft; text: string; timed?: boolean }) {
  const { t } = useTranslation();
  const [shown, set] = useDraft(draft);
  return (
    <Stack gap="sm">
      <Text size="sm">{text}</Text>
      {timed && (
        <SegmentedControl
          size="xs"
          aria-label={t('alerts.howLong')}
          value={String(shown.duration_s / 3600)}
          onChange={(hours) => set({ duration_s: Number(hours) * 3600 })}
          data={HOURS.map((hours) => ({
            value: String(hours),
            label: hours < 24 ? t('alerts.hours', { n: hours }) : t('alerts.days', { n: hours / 24 }),
          }))}
          data-testid="silence-hours"
        />
      )}
      <TextInput
        size="sm"
        label={t('alerts.yourName')}
        value={shown.by}
        onChange={(event) => {
          set({ by: event.currentTarget.value });
          save('operator-name', event.currentTarget.value);
        }}
        data-testid="draft-by"
      />
      <TextInput
        size="sm"
        label={t('alerts.comment')}
        value={shown.comment}
        onChange={(event) => set({ comment: event.currentTarget.value })}
        data-testid="draft-comment"
      />
    </Stack>
  );
}
