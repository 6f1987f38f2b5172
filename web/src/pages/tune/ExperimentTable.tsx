import { useTranslation } from 'react-i18next';
import type { TuneExperimentItem } from '../../api/schema';
import { short } from '../../base/format';
import { Dash } from '../../ui/Dash';
import { LibraryTable } from '../../ui/LibraryTable';
import words from '../../ui/theme/words.module.css';
import { TrialBar } from './TrialBar';
import css from './tune.module.css';

export function ExperimentTable(props: { experiments: TuneExperimentItem[]; chosen: string }) {
  const { t } = useTranslation();
  return (
    <LibraryTable
      items={props.experiments}
      chosen={props.chosen}
      title={t('tune.experiment')}
      idOf={(one) => one.experiment_id}
      nameOf={(one) => one.name}
      note={(one) => one.is_restored && <span className={words.dim}>{t('tune.restored')}</span>}
      columns={[
        { title: t('tune.trials'), cell: (one) => <TrialBar of={one} /> },
        {
          title: t('tune.best'),
          cell: (one) => (one.best_value === null ? <Dash /> : `${one.metric} ${short(one.best_value)}`),
        },
      ]}
      className={css.experiments}
      testId="tune-experiments"
      rowTestId="tune-experiment"
    />
  );
}
