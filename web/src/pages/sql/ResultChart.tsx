import { Select, Skeleton } from '@mantine/core';
import { IconChartBar } from '@tabler/icons-react';
import { lazy, Suspense, useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { textOf } from '../../base/csv';
import { count, fullTime } from '../../base/format';
import { withSettings } from '../../base/url';
import { usePalette } from '../../ui/canvas';
import { valueText } from '../../ui/charts/units';
import { useMarks } from '../../ui/charts/useMarks';
import { EmptyState } from '../../ui/EmptyState';
import { ShareBar } from '../../ui/ShareBar';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import css from './ResultChart.module.css';
import { axesOf, isTime, numberOf, type Result, timeOf, type Value } from './result';

const ChartCanvas = lazy(() => import('../../ui/charts/ChartCanvas'));
const MAX_BARS = 200;
const HEIGHT = 320;

/** One column of numbers over another column: a line if that column is a time, otherwise bars. */
export function ResultChart({ result }: { result: Result }) {
  const { t } = useTranslation();
  const [url, change] = useSessionUrl();
  const axes = useMemo(() => axesOf(result, url.settings?.sql), [result, url.settings?.sql]);
  const chosen = (choices: number[], wanted: string | undefined) =>
    choices.find((at) => result.columns[at]?.[0] === wanted) ?? choices[0];
  const y = chosen(axes.y, url.settings?.weight);
  const x = chosen(
    axes.x.filter((at) => at !== y),
    url.settings?.by,
  );
  if (x === undefined || y === undefined)
    return <EmptyState icon={<IconChartBar size={26} />} title={t('sql.noNumbers')} />;
  const nameOf = (at: number) => result.columns[at]?.[0] ?? '';
  const field = (label: string, setting: 'by' | 'weight', at: number, choices: number[]) => (
    <Select
      label={label}
      value={nameOf(at)}
      data={[...new Set(choices.map(nameOf))]}
      allowDeselect={false}
      onChange={(name) =>
        change((before) => withSettings(before, { [setting]: name ?? undefined }), { replace: true })
      }
    />
  );
  return (
    <div className={css.chart} data-testid="sql-chart" data-kind={isTime(result, x) ? 'line' : 'bars'}>
      <div className={css.fields}>
        {field(
          t('sql.x'),
          'by',
          x,
          axes.x.filter((at) => at !== y),
        )}
        {field(t('sql.y'), 'weight', y, axes.y)}
      </div>
      {isTime(result, x) ? <Line result={result} x={x} y={y} /> : <Bars result={result} x={x} y={y} />}
    </div>
  );
}

interface Axes {
  result: Result;
  x: number;
  y: number;
}

function Line({ result, x, y }: Axes) {
  const palette = usePalette();
  const [url] = useSessionUrl();
  const marks = useMarks(url.session);
  const [place, setPlace] = useState<number | null>(null);
  const [zoom, setZoom] = useState<{ from: number; to: number } | null>(null);
  const [name = '', type = ''] = result.columns[y] ?? [];
  const points = useMemo(
    () =>
      (result.rows as Value[][])
        .map((row) => ({
          at: timeOf(row[x] ?? null, result.columns[x]?.[1] ?? ''),
          value: numberOf(row[y] ?? null, type),
        }))
        .filter((point): point is { at: number; value: number | null } => point.at !== null)
        .sort((a, b) => a.at - b.at),
    [result, x, y, type],
  );
  const times = useMemo(() => points.map(({ at }) => at), [points]);
  const lines = useMemo(
    () => [{ key: name, name, values: points.map(({ value }) => value) }],
    [points, name],
  );
  const whole = { from: times[0] ?? 0, to: Math.max(times.at(-1) ?? 0, (times[0] ?? 0) + 1) };
  const pointed = place === null ? undefined : points[place];
  return (
    <>
      <Suspense fallback={<Skeleton height={HEIGHT} />}>
        <ChartCanvas
          times={times}
          lines={lines}
          colors={[{ color: palette.tone('busy'), dashed: false }]}
          unit=""
          stacked={false}
          height={HEIGHT}
          range={zoom ?? whole}
          marks={marks}
          syncKey="sql"
          focus={null}
          onPlace={setPlace}
          onZoom={setZoom}
          onReset={() => setZoom(null)}
        />
      </Suspense>
      <p className={`${words.num} ${words.dim} ${css.pointed}`}>
        {pointed !== undefined && `${fullTime(pointed.at * 1e6)}  ${name} ${valueText(pointed.value)}`}
      </p>
    </>
  );
}

function Bars({ result, x, y }: Axes) {
  const { t } = useTranslation();
  const rows = (result.rows as Value[][]).slice(0, MAX_BARS);
  const values = rows.map((row) => numberOf(row[y] ?? null, result.columns[y]?.[1] ?? ''));
  const most = Math.max(1e-300, ...values.map((value) => Math.abs(value ?? 0)));
  return (
    <>
      <ol className={css.bars}>
        {rows.map((row, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: rows have no other identity.
          <li key={at} className={css.bar}>
            <span className={words.ellipsis} title={textOf(row[x] ?? null)}>
              {textOf(row[x] ?? null) || '-'}
            </span>
            <ShareBar share={Math.abs(values[at] ?? 0) / most} />
            <span className={words.num}>{valueText(values[at])}</span>
          </li>
        ))}
      </ol>
      {result.rows.length > MAX_BARS && (
        <p className={words.dim}>{t('sql.bars', { n: count(MAX_BARS), of: count(result.rows.length) })}</p>
      )}
    </>
  );
}
