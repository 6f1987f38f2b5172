import type { TFunction } from 'i18next';
import type { TrendChange } from '../../api/schema';
import { percent, time } from '../../base/format';

/** `12% slower since 11-12 14:03`. */
export const sinceText = (change: TrendChange, t: TFunction) =>
  t(`runs.changed.${change.ratio > 1 ? 'slower' : 'faster'}`, {
    change: `${percent(Math.abs(change.ratio - 1))}%`,
    since: time(change.begin_ns).replace(/:\d\d$/, ''),
  });
