import { Button, Group, Loader, ScrollArea, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { anonymousFile } from '../api/client';
import { download } from '../base/download';
import { bytes, count } from '../base/format';
import { Dialog } from '../ui/Dialog';
import { ErrorPanel } from '../ui/ErrorPanel';
import plain from '../ui/theme/plainTable.module.css';
import words from '../ui/theme/words.module.css';

/** Shows which names a session file without names replaces, before it is saved. */
export default function AnonymousFile({ session, onClose }: { session: string; onClose: () => void }) {
  const { t } = useTranslation();
  const { data, error, refetch } = useQuery({
    queryKey: ['anonymous file', session],
    queryFn: ({ signal }) => anonymousFile(session, signal),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0, // the file may be large
    retry: false,
  });
  return (
    <Dialog
      onClose={onClose}
      title={t('exporting.anonymous')}
      size="lg"
      centered
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
            <table className={plain.table} data-testid="anonymous-replaced">
              <tbody>
                {Object.entries(data.replaced)
                  .filter(([, replaced]) => replaced > 0)
                  .map(([column, replaced]) => (
                    <tr key={column}>
                      <td className={words.mono}>{column}</td>
                      <td data-align="right">{count(replaced)}</td>
                    </tr>
                  ))}
              </tbody>
            </table>
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
    </Dialog>
  );
}
