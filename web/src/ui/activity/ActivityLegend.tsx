import { Group, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { count } from '../../base/format';
import { Dot } from '../Dot';
import { type Activity, meanText } from './activity';

const ROWS = [
  ['waiting', 'in_flight'],
  ['busy', 'running'],
] as const;

/** The colors of an activity drawing, with the numbers of a bucket or, without one, the scale of each half. */
export function ActivityLegend(props: { activity: Activity; bucket: number | null; failures?: boolean }) {
  const { activity, bucket } = props;
  const { t } = useTranslation();
  const item = (tone: string, text: string) => (
    <Group key={tone} gap={6}>
      <Dot color={`var(--rs-tone-${tone})`} />
      <Text size="xs" c="dimmed">
        {text}
      </Text>
    </Group>
  );
  return (
    <Group gap="md">
      {ROWS.map(([tone, name]) => {
        const values = activity[name];
        const shown =
          bucket === null ? `0–${meanText(Math.max(0, ...values))}` : meanText(values[bucket] ?? 0);
        return item(tone, `${t(`activity.${name}`)}: ${shown}`);
      })}
      {props.failures &&
        item(
          'bad',
          t('activity.failed') + (bucket === null ? '' : `: ${count(activity.failed[bucket] ?? 0)}`),
        )}
    </Group>
  );
}
