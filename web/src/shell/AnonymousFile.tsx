import { Button, Group, Loader, Modal, ScrollArea, Table, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { anonymousFile } from '../api/client';
import { download } from '../base/download';
import { bytes, count } from '../base/format';
import { ErrorPanel } from '../ui/ErrorPanel';

/** Shows which names a session file without names replaces, before it is saved. */
export function AnonymousFile({ session, onClose }: { session: string; onClose: () => void }) {
  const { t } = useTranslation();
  const { data, error, refetch } = useQuery({
    queryKey: ['anonymous file', session],
    queryFn: ({ signal }) => anonymousFile(session, signal),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0, // the file may be large
    retry: false,
  });
  return (
    <Modal
      opened
      onClose={onClose}
      title={t('exporting.anonymous')}
      size="lg"
      centered
      closeButtonProps={{ 'aria-label': t('common.close') }}
      data-testid="anonymous-file"
    >
      {error !== null && <ErrorPanel error={error} onRetry={() => void refetch()} />}
      {error === null && data === undefined && (
        <Group gap="sm">
          <Loader size="sm" />
          <Text size="sm">{t('exporting.replacing')}</Text>
        </Group>
      )}
      {data !== undefined && (
        <>
          <Text size="sm">{t('exporting.replacedHint')}</Text>
          <ScrollArea.Autosize mah={320} my="sm">
            <Table withRowBorders={false} verticalSpacing={2} data-testid="anonymous-replaced">
              <Table.Tbody>
                {Object.entries(data.replaced)
                  .filter(([, replaced]) => replaced > 0)
                  .map(([column, replaced]) => (
                    <Table.Tr key={column}>
                      <Table.Td ff="monospace">{column}</Table.Td>
                      <Table.Td ta="right">{count(replaced)}</Table.Td>
                    </Table.Tr>
                  ))}
              </Table.Tbody>
            </Table>
          </ScrollArea.Autosize>
          <Text size="sm" c="dimmed">
            {t('exporting.leftOut')}
          </Text>
          <Group justify="flex-end" mt="md">
            <Button variant="default" onClick={onClose}>
              {t('slow.cancel')}
            </Button>
            <Button
              onClick={() => {
                download(data.name, data.file);
                onClose();
              }}
              data-testid="anonymous-save"
            >
              {t('exporting.save', { size: bytes(data.file.size) })}
            </Button>
          </Group>
        </>
      )}
    </Modal>
  );
}
