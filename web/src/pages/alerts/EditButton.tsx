import { ActionIcon, Button, Group, Tooltip } from '@mantine/core';
import {
  IconPencil,
  IconPlayerPause,
  IconPlayerPlay,
  IconPlus,
  IconTestPipe,
  IconTrash,
} from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';

const ICONS = {
  add: IconPlus,
  test: IconTestPipe,
  edit: IconPencil,
  disable: IconPlayerPause,
  enable: IconPlayerPlay,
  delete: IconTrash,
};

const ADD = { rule: 'alerts.addRule', channel: 'alerts.addChannel' } as const;
const TEST = { rule: 'alerts.testRule', channel: 'alerts.test' } as const;

/** A button for a rule or channel. It has an icon if `name` is given, otherwise a label. */
export function EditButton(props: {
  kind: 'rule' | 'channel';
  action: keyof typeof ICONS;
  name?: string;
  disabled?: boolean;
  loading?: boolean;
  onClick: () => void;
}) {
  const { kind, action, name, ...rest } = props;
  const { t } = useTranslation();
  const Icon = ICONS[action];
  const label = t(action === 'add' ? ADD[kind] : action === 'test' ? TEST[kind] : `alerts.${action}`);
  const common = { ...rest, 'data-testid': `${kind}-${action}` };
  if (name === undefined)
    return (
      <Button size="compact-sm" variant="default" leftSection={<Icon size={14} />} {...common}>
        {label}
      </Button>
    );
  return (
    <Tooltip label={label}>
      <ActionIcon size={26} aria-label={t('alerts.actionOn', { action: label, name })} {...common}>
        <Icon size={16} />
      </ActionIcon>
    </Tooltip>
  );
}

/** The buttons of one rule or channel, at the right of its row or heading. */
export function EditButtons({ children }: { children: ReactNode }) {
  return (
    <Group gap={2} my={-4} justify="flex-end" wrap="nowrap">
      {children}
    </Group>
  );
}
