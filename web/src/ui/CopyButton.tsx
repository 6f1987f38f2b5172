import { ActionIcon, Tooltip } from '@mantine/core';
import { IconCheck, IconCopy } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { useCopied } from './useCopied';

export function CopyButton({ text, label }: { text: string; label?: string }) {
  const { t } = useTranslation();
  const [copied, copy] = useCopied();
  const name = label ?? t('common.copy');
  return (
    <Tooltip label={copied ? t('common.copied') : name}>
      <ActionIcon
        size={24}
        aria-label={name}
        onClick={(event) => {
          // The button may be inside a clickable row.
          event.stopPropagation();
          copy(text);
        }}
      >
        {copied ? <IconCheck size={15} /> : <IconCopy size={15} />}
      </ActionIcon>
    </Tooltip>
  );
}
