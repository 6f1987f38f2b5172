import { SegmentedControl } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { StepCell, TrainRunAnswer } from '../../api/schema';
import { duration } from '../../base/format';
import words from '../../ui/theme/words.module.css';
import css from './train.module.css';

const PARTS = ['own', 'data', 'compute', 'report'] as const;
type Part = (typeof PARTS)[number];

/** The duration of a part of a step, ns; null if unknown. */
function partOf(cell: StepCell, part: Part): number | null {
  if (part === 'own') return cell.own_ns;
  if (part === 'data') return cell.data_ns;
  if (part === 'report') return cell.report_ns;
  return cell.own_ns === null ? null : cell.own_ns - (cell.data_ns ?? 0);
}

/** A sentence about each rank that straggled. */
export function Stragglers({ run }: { run: TrainRunAnswer }) {
  const { t } = useTranslation();
  const stragglers = run.ranks.filter(({ straggles }) => straggles > 0).slice(0, 3);
  return (
    <span className={css.finding} data-testid="train-stragglers">
      {stragglers.length === 0
        ? t('train.noStraggler')
        : stragglers
            .map((one) =>
              t('train.straggling', {
                rank: t('train.rankN', { n: one.rank }),
                n: one.straggles,
                all: one.steps,
              }),
            )
            .join(' ')}
    </span>
  );
}

/** A heat map of step durations by rank, in total or for one part, with stragglers marked. */
export function StepTimes({ run }: { run: TrainRunAnswer }) {
  const { t } = useTranslation();
  const [part, setPart] = useState<Part>('own');
  const ranks = [...new Set(run.cells.map(({ rank }) => rank))].sort((a, b) => a - b);
  const columns = Math.ceil(run.steps / run.bucket);
  const gap = Math.min(0.06, columns / 500);
  const values = run.cells.map((cell) => partOf(cell, part) ?? 0).sort((a, b) => a - b);
  // The scale ends at the 90th percentile. Otherwise a slow first step would make all other steps look alike.
  const most = Math.max(1, values[Math.floor(values.length * 0.9)] ?? 0);
  const isMore = (values.at(-1) ?? 0) > most;
  const known = (ns: number | null) => (ns === null ? '?' : duration(ns));
  const title = (cell: StepCell) => {
    const from = cell.column * run.bucket;
    return [
      t('train.cell', {
        rank: t('train.rankN', { n: cell.rank }),
        step:
          run.bucket === 1
            ? t('train.step', { n: from })
            : t('train.stepsRange', { from, to: Math.min(run.steps, from + run.bucket) - 1 }),
        data: known(cell.data_ns),
        compute: known(partOf(cell, 'compute')),
        report: duration(cell.report_ns),
      }),
      ...(cell.straggles > 0 ? [t('train.straggles')] : []),
    ].join('\n');
  };
  return (
    <div data-testid="train-steps">
      <div className={css.controls}>
        <SegmentedControl
          size="xs"
          value={part}
          onChange={(value) => setPart(value as Part)}
          data={PARTS.map((one) => ({ value: one, label: t(`train.part.${one}`) }))}
        />
      </div>
      <div className={css.heat}>
        {ranks.map((rank) => (
          <div key={rank} className={css.heatRow}>
            <span className={words.num}>{t('train.rankN', { n: rank })}</span>
            <svg
              viewBox={`0 0 ${columns} 1`}
              preserveAspectRatio="none"
              role="img"
              aria-label={t('train.rankN', { n: rank })}
            >
              {run.cells
                .filter((cell) => cell.rank === rank)
                .map((cell) => {
                  const value = partOf(cell, part);
                  return (
                    <g key={cell.column} data-straggles={cell.straggles > 0 || undefined}>
                      <title>{title(cell)}</title>
                      <rect
                        x={cell.column + gap / 2}
                        width={1 - gap}
                        height={1}
                        data-part={part}
                        fillOpacity={value === null ? 0 : 0.12 + 0.88 * Math.min(1, value / most)}
                      />
                      {cell.straggles > 0 && (
                        <rect
                          className={css.mark}
                          x={cell.column + gap / 2}
                          y={0.42}
                          width={1 - gap}
                          height={0.16}
                        />
                      )}
                    </g>
                  );
                })}
            </svg>
          </div>
        ))}
        <div className={css.heatScale}>
          <span>0</span>
          <span>{run.steps - 1}</span>
        </div>
        <p className={css.legend}>
          <span>
            <i className={css.ramp} data-part={part} aria-hidden /> 0 – {duration(most)}
            {isMore && ` ${t('train.orMore')}`}
          </span>
          <span>
            <i className={css.markLegend} aria-hidden /> {t('train.straggles')}
          </span>
        </p>
      </div>
      {run.ranks.length > run.shown_ranks && (
        <p className={words.dim}>{t('train.ranksLeftOut', { n: run.ranks.length - run.shown_ranks })}</p>
      )}
      {run.reports_left_out > 0 && (
        <p className={words.dim}>
          {t('train.leftOut', { n: run.reports_left_out, count: run.reports_left_out })}
        </p>
      )}
    </div>
  );
}
