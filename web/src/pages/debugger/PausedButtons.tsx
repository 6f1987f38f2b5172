import { ActionIcon, Button, Group, Tooltip } from '@mantine/core';
import { IconEye, IconPlayerPlay, IconPlug } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import type { PausedTask } from '../../api/schema';
import { isLegacy, isTraced } from './traced';
import type { PausedActions } from './usePausedActions';

const BUTTONS = [
  { action: 'attach', text: 'attach', icon: IconPlug },
  { action: 'look', text: 'look', icon: IconEye },
  { action: 'release', text: 'releaseIt', icon: IconPlayerPlay },
] as const;

/** The buttons of a paused task, as icons in the table and with text below it. */
export function PausedButtons(props: { task: PausedTask; actions: PausedActions; withText?: boolean }) {
  const { task, actions } = props;
  const { t } = useTranslation();
  if (isLegacy(task)) return null;
  const problem = !isTraced(task)
    ? t('debugger.untraced')
    : actions.isEnabled
      ? null
      : t('debugger.disabled');
  return (
    <Group gap={props.withText ? 8 : 2} wrap="nowrap">
      {BUTTONS.map(({ action, text, icon: Icon }) => {
        const label = t(`debugger.${text}`);
        const shared = {
          disabled: problem !== null,
          'data-testid': `paused-${action}`,
          onClick: (event: React.MouseEvent) => {
            event.stopPropagation(); // not a click on the row
            if (isTraced(task)) void actions[action](task);
          },
        };
        if (props.withText)
          return (
            <Button
              key={action}
              size="compact-sm"
              variant="default"
              leftSection={<Icon size={15} aria-hidden />}
              {...shared}
            >
              {label}
            </Button>
          );
        return (
          <Tooltip key={action} label={problem ?? label}>
            <ActionIcon size={24} aria-label={label} {...shared}>
              <Icon size={16} />
            </ActionIcon>
          </Tooltip>
        );
      })}
    </Group>
  );
}
