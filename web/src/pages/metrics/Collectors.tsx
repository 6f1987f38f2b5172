import { Tooltip } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { type MetricsTopic, useTopic } from '../../api/realtime';
import type { CollectorItem } from '../../api/schema';
import { count, duration, wholeAge } from '../../base/format';
import type { Tone } from '../../base/tokens';
import { Dot } from '../../ui/Dot';
import words from '../../ui/theme/words.module.css';
import { useServerMessage } from '../../ui/useServerMessage';
import { useSessionUrl } from '../../ui/useUrl';
import css from './Collectors.module.css';

/** Collectors of a live session: their cost and their problems. */
export function Collectors() {
  const { t } = useTranslation();
  const [url] = useSessionUrl();
  const latest = useTopic<MetricsTopic>('metrics', { session: url.session });
  const collectors = latest?.collectors ?? [];
  const translate = useServerMessage();
  const errors = byError(collectors, translate);
  if (latest?.problem) {
    const text = translate(latest.problem);
    errors.unshift([t('metricsPage.keeping'), text.message, text.remedy]);
  }
  if (latest?.note) errors.push([t('metricsPage.keeping'), translate(latest.note).message, null]);
  if (latest !== undefined && latest.left_out > 0)
    errors.push([t('metricsPage.keeping'), t('metricsPage.noRoom', { n: count(latest.left_out) }), null]);
  if (collectors.length === 0 && errors.length === 0) return null;
  return (
    <section className={css.collectors} aria-label={t('metricsPage.collectors')} data-testid="collectors">
      <div className={css.row}>
        <span className={words.dim}>{t('metricsPage.collectors')}</span>
        {collectors.map((one) => (
          <Tooltip key={one.name} label={<CollectorTooltip collector={one} />}>
            <span
              className={css.collector}
              data-testid="collector"
              data-name={one.name}
              data-ok={one.ok ?? undefined}
            >
              <Dot color={`var(--rs-tone-${tone(one)})`} />
              {one.name}
              {one.last_ns !== null && (
                <span className={`${words.num} ${words.dim}`}>{duration(one.cost_s * 1e9)}</span>
              )}
            </span>
          </Tooltip>
        ))}
      </div>
      {errors.map(([name, error, remedy]) => (
        <p key={`${name} ${error}`} className={css.error} data-testid="collector-error">
          <b>{name}</b>: {error} <span className={words.dim}>{remedy}</span>
        </p>
      ))}
    </section>
  );
}

/** Groups nodes that have the same problem and remedy, so that each problem is shown only once. */
function byError(
  collectors: CollectorItem[],
  translate: ReturnType<typeof useServerMessage>,
): [string, string, string | null][] {
  const found = new Map<string, [string, string, string | null]>();
  for (const { name, problems } of collectors)
    for (const text of problems.map(translate)) {
      const key = JSON.stringify(text);
      const names = found.get(key)?.[0];
      found.set(key, [names === undefined ? name : `${names}, ${name}`, text.message, text.remedy]);
    }
  return [...found.values()];
}

function tone({ ok, error }: CollectorItem): Tone {
  if (ok === null) return 'quiet';
  if (!ok) return 'bad';
  return error === null ? 'good' : 'waiting';
}

function CollectorTooltip({ collector }: { collector: CollectorItem }) {
  const { t } = useTranslation();
  const { last_ns, samples, interval_s, cost_s, took_s } = collector;
  if (last_ns === null) return t('metricsPage.neverLooked');
  return t('metricsPage.looked', {
    n: count(samples),
    age: wholeAge(Math.max(0, Date.now() - last_ns / 1e6)),
    took: duration(took_s * 1e9),
    cost: duration(cost_s * 1e9),
    every: interval_s,
  });
}
