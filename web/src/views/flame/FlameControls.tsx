import { SegmentedControl, Select } from '@mantine/core';
import type { TFunction } from 'i18next';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { useJobChoices } from '../../api/queries';
import { withSettings } from '../../base/url';
import { OnlyMineSwitch } from '../../ui/insights/OnlyMine';
import { useJobName } from '../../ui/JobName';
import { useSessionUrl } from '../../ui/useUrl';
import { FindBox } from '../shared/FindBox';
import { comparedRange } from './comparedRange';
import css from './FlameControls.module.css';
import { ORDERS, WEIGHTS, type Weight } from './flame';
import { RangeCompared } from './RangeCompared';

function weightLabel(weight: Weight, t: TFunction) {
  const isTime = weight === 'executing' || weight === 'awaiting' || weight === 'duration';
  return (
    <span title={isTime ? t(`timeHint.${weight}`) : t(`flame.weightHint.${weight}`)}>
      {isTime ? t(`time.${weight}`) : t(`flame.weights.${weight}`)}
    </span>
  );
}

/** Controls for the meaning of widths, the order, the comparison, and the search. */
export function FlameControls(props: { weight: Weight; order: (typeof ORDERS)[number] }) {
  const [url, change] = useSessionUrl();
  const { t } = useTranslation();
  const jobs = useJobChoices(url.session);
  const jobName = useJobName();
  const names = useMemo(() => [...new Set((jobs.data?.items ?? []).map((job) => job.job_id))], [jobs.data]);
  const { baseline, vs } = url.settings ?? {};
  const inRange = comparedRange(url) !== null;
  return (
    <div className={css.controls}>
      <SegmentedControl
        size="xs"
        aria-label={t('flame.weight')}
        data-testid="flame-weight"
        value={props.weight}
        onChange={(value) =>
          change((before) => withSettings(before, { weight: value === 'critical_path' ? undefined : value }))
        }
        data={WEIGHTS.map((value) => ({
          value,
          label: weightLabel(value, t),
        }))}
      />
      <SegmentedControl
        size="xs"
        aria-label={t('flame.order')}
        data-testid="flame-order"
        value={props.order}
        onChange={(value) =>
          change((before) => withSettings(before, { order: value === 'size' ? undefined : value }))
        }
        data={ORDERS.map((value) => ({ value, label: t(`flame.orders.${value}`) }))}
      />
      {inRange ? (
        <RangeCompared vs={vs ?? ''} />
      ) : (
        (names.length > 1 || baseline !== undefined) && (
          <Select
            size="xs"
            className={css.baseline}
            aria-label={t('flame.baseline')}
            placeholder={t('flame.baseline')}
            data={(baseline && !names.includes(baseline) ? [baseline, ...names] : names).map((value) => ({
              value,
              label: t('flame.against', { job: jobName(value) }),
            }))}
            value={baseline ?? null}
            onChange={(value) => change((before) => withSettings(before, { baseline: value ?? undefined }))}
            searchable
            clearable
            comboboxProps={{ width: 240, position: 'bottom-start' }}
            data-testid="flame-baseline"
          />
        )
      )}
      <OnlyMineSwitch />
      <FindBox view="flame" label={t('flame.find')} clears />
      {(inRange || baseline !== undefined) && (
        <span className={css.legend} title={inRange ? t('range.sharesHint') : undefined}>
          <span className={css.key} data-tone="busy" /> {t(inRange ? 'range.lessShare' : 'flame.less')}
          <span className={css.key} data-tone="bad" /> {t(inRange ? 'range.moreShare' : 'flame.more')}
        </span>
      )}
    </div>
  );
}
