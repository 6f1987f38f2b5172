import { Button } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { bytes } from '../../base/format';
import { EmptyState } from '../../ui/EmptyState';
import type { useLogFile } from './useLogFile';

/** No line of what was read matches: look further, if the file has more. */
export function NoLines({ view, searched }: { view: ReturnType<typeof useLogFile>; searched: boolean }) {
  const { t } = useTranslation();
  const { loaded } = view;
  if (loaded === undefined) return null;
  return (
    <EmptyState icon={<IconSearch size={26} />} title={t(searched ? 'logs.noLines' : 'logs.emptyFile')}>
      {loaded.more || loaded.prev !== null
        ? searched
          ? t('logs.lookedThrough', { size: bytes(loaded.last.end - loaded.last.begin) })
          : undefined
        : undefined}
      {(loaded.more || loaded.prev !== null) && (
        <Button
          size="compact-xs"
          variant="default"
          mt={8}
          loading={view.loading !== null}
          onClick={loaded.prev !== null ? view.before : view.after}
        >
          {t('logs.lookFurther')}
        </Button>
      )}
    </EmptyState>
  );
}
