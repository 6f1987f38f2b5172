import { Button } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { bytes } from '../../base/format';
import { EmptyState } from '../../ui/EmptyState';
import type { useLogFile } from './useLogFile';

/** Explains why there are no lines. If there may be more, a button continues the search. */
export function NoLines(props: {
  view: ReturnType<typeof useLogFile>;
  why: 'noLines' | 'noLinesInRange' | 'emptyFile';
}) {
  const { view, why } = props;
  const { t } = useTranslation();
  const { loaded } = view;
  if (loaded === undefined) return null;
  return (
    <EmptyState icon={<IconSearch size={26} />} title={t(`logs.${why}`)}>
      {why === 'noLines' &&
        (loaded.more || loaded.prev !== null) &&
        t('logs.lookedThrough', { size: bytes(loaded.last.end - loaded.last.begin) })}
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
