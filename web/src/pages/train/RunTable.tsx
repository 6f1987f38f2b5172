import { useTranslation } from 'react-i18next';
import type { TrainRunItem } from '../../api/schema';
import { count } from '../../base/format';
import { LibraryTable } from '../../ui/LibraryTable';

export function RunTable({ runs, chosen }: { runs: TrainRunItem[]; chosen: string }) {
  const { t } = useTranslation();
  return (
    <LibraryTable
      items={runs}
      chosen={chosen}
      title={t('train.run')}
      idOf={(run) => run.run_id}
      nameOf={(run) => run.name}
      columns={[
        {
          title: t('train.attempts'),
          isBad: (run) => run.failed_attempts > 0,
          cell: (run) =>
            run.failed_attempts > 0
              ? t('train.failedOf', { failed: run.failed_attempts, n: run.attempt_count })
              : count(run.attempt_count),
        },
        { title: t('train.workers'), isNumber: true, cell: (run) => count(run.worker_count) },
      ]}
      testId="train-runs"
      rowTestId="train-run"
    />
  );
}
