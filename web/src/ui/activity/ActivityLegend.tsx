import { Group, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { count } from '../../base/format';
import { Dot } from '../Dot';
import { usePunctuation } from '../usePunctuation';
import { type Activity, meanText } from './activity';

const ROWS = [
  ['waiting', 'in_flight'],
  ['busy', 'running'],
] as const;

/** The colors of an activity drawing, with the scale of each half and the numbers of a bucket. */
export function ActivityLegend(props: { activity: Activity; bucket: number | null; failures?: boolean }) {
  const { activity, bucket } = props;
  const { t } = useTranslation();
  const { colon } = usePunctuation();
  const item = (tone: string, text: string) => (
    <Group key={tone} gap={6}>
      <Dot color={`var(--rs-tone-${tone})`} />
      <Text size="xs" c="dimmed">
        {text}
      </Text>
    </Group>
  );
  return (
    <Group gap="md" title={t('activity.mean')}>
      {ROWS.map(([tone, name]) => {
        const values = activity[name];
        const most = meanText(Math.max(0, ...values));
        const shown =
          bucket === null
            ? t('activity.scale', { most })
            : t('activity.ofScale', { value: meanText(values[bucket] ?? 0), most });
        return item(tone, `${t(`activity.${name}`)}${colon}${shown}`);
      })}
      {props.failures &&
        item(
          'bad',
          t('activity.failed') + (bucket === null ? '' : `${colon}${count(activity.failed[bucket] ?? 0)}`),
        )}
    </Group>
  );
}
