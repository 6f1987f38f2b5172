import { ActionIcon, SegmentedControl, Select } from '@mantine/core';
import { IconArrowsExchange, IconFlame, IconX } from '@tabler/icons-react';
import type { TFunction } from 'i18next';
import { Fragment, useEffect, useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Params } from '../../api/client';
import { useChoices } from '../../api/queries';
import type { Summary } from '../../api/types';
import { clockTime, count, duration } from '../../base/format';
import { isTyping } from '../../base/keys';
import { type SessionUrl, withSettings } from '../../base/url';
import { EmptyState, NoMatches } from '../../ui/EmptyState';
import { ErrorPanel } from '../../ui/ErrorPanel';
import { FilterBar } from '../../ui/FilterBar';
import { useSessionUrl } from '../../ui/useUrl';
import { FindBox } from '../shared/FindBox';
import { formatRange, lengthOf, parseRange } from '../shared/range';
import { FlameCanvas } from './FlameCanvas';
import { FlamePanel } from './FlamePanel';
import css from './FlameView.module.css';
import {
  type FlameAnswer,
  found,
  lineOf,
  matcher,
  type Node,
  ORDERS,
  shareText,
  toNodes,
  WEIGHTS,
  type Weight,
} from './flame';
import { useFrameName, valueText } from './flameText';
import { useFlame } from './useFlame';

/** Frames above the one that is zoomed into that the line above the graph names. */
const CRUMBS = 5;

/** Where the time of all attempts went, by who called whom. */
export function FlameView({ summary }: { summary: Summary | undefined }) {
  const [url, change] = useSessionUrl();
  const { t } = useTranslation();
  const { settings = {} } = url;
  const weight = WEIGHTS.find((one) => one === settings.weight) ?? 'executing';
  const order = ORDERS.find((one) => one === settings.order) ?? 'size';
  const base: Params = { session: url.session, ...url.filters };
  const compared = comparedRange(url);
  const params: Params = { ...base, weight, ...(compared ?? { baseline_job: settings.baseline }) };
  const relative = compared !== null;
  const flame = useFlame(params, settings.frame);

  // Nothing moves under the pointer: what came first stays until it leaves, or until something else is asked.
  const asked = JSON.stringify([params, settings.frame]);
  const [held, setHeld] = useState<{ asked: string; data: FlameAnswer } | null>(null);
  const data = held !== null && held.asked === asked ? held.data : flame.data;
  const hold = (on: boolean) => {
    if (on && held?.asked === asked) return;
    setHeld(on && data && !flame.outdated ? { asked, data } : null);
  };

  const nodes = useMemo(() => (data === undefined ? null : toNodes(data)), [data]);
  const root = nodes?.values().next().value ?? null;
  const zoomed = (settings.frame !== undefined && nodes?.get(settings.frame)) || root;
  const zoom = (frame: string | undefined) =>
    change((before) => withSettings(before, { frame: frame === root?.frame.id ? undefined : frame }));

  const above = zoomed?.parent?.frame.id;
  const zoomedIn = settings.frame !== undefined;
  const drawer = url.task !== undefined;
  useEffect(() => {
    if (!zoomedIn || drawer) return;
    function onKey(event: KeyboardEvent): void {
      if (event.key !== 'Escape' || event.defaultPrevented || isTyping(event.target)) return;
      event.preventDefault();
      change((before) => withSettings(before, { frame: above === '0' ? undefined : above }));
    }
    window.addEventListener('keydown', onKey);
    return () => window.removeEventListener('keydown', onKey);
  }, [zoomedIn, drawer, above, change]);

  const filtered = Object.keys(url.filters).length > 0;
  return (
    <>
      <FilterBar summary={summary} />
      <Controls weight={weight} order={order} />
      {flame.error !== null && data === undefined ? (
        <ErrorPanel error={flame.error} onRetry={() => void flame.refetch()} />
      ) : data === undefined || zoomed === null || nodes === null ? (
        <div className={css.wait} role="status">
          {t('flame.loading')}
        </div>
      ) : data.attempts === 0 && !data.baseline_total ? (
        filtered ? (
          <NoMatches title={t('flame.emptyFiltered')} />
        ) : (
          <EmptyState icon={<IconFlame size={26} />} title={t('flame.empty')}>
            {t('table.emptyLive')}
          </EmptyState>
        )
      ) : (
        <div className={css.flame} data-outdated={flame.outdated || undefined}>
          <div className={css.main}>
            <div className={css.line}>
              <nav className={css.crumbs} aria-label={t('flame.crumbs')} data-testid="flame-crumbs">
                <Crumbs node={zoomed} onGo={zoom} />
              </nav>
              <Found answer={data} zoomed={zoomed} />
            </div>
            {data.total === 0 && !data.baseline_total ? (
              <EmptyState icon={<IconFlame size={26} />} title={t(`flame.nothing.${data.weight}`)}>
                {t('flame.attemptsOf', { n: count(data.attempts) })}
              </EmptyState>
            ) : (
              <FlameCanvas
                answer={data}
                zoomed={zoomed}
                order={order}
                find={settings.find}
                relative={relative}
                onZoom={(node) => zoom(node.frame.kind === 'other' ? node.parent?.frame.id : node.frame.id)}
                onHold={hold}
              />
            )}
          </div>
          <FlamePanel
            answer={data}
            node={zoomed}
            nodes={nodes}
            params={base}
            relative={relative}
            onZoom={zoom}
          />
        </div>
      )}
    </>
  );
}

/** The other range of time (`vs`) as the API takes it, or null if there is none to compare with. */
function comparedRange({ settings, filters }: SessionUrl): Params | null {
  if (settings?.vs === 'rest') return filters.since_ns || filters.until_ns ? { baseline_rest: 'true' } : null;
  const range = parseRange(settings?.vs);
  return range && { baseline_since_ns: range.from, baseline_until_ns: range.to };
}

/** What the range of the filters is compared with: the rest of the time, or another range. */
function RangeCompared({ vs }: { vs: string }) {
  const [url, change] = useSessionUrl();
  const { t } = useTranslation();
  const { since_ns, until_ns } = url.filters;
  const range = parseRange(vs);
  const mine = since_ns && until_ns ? parseRange(`${since_ns}-${until_ns}`) : null;
  return (
    <span className={css.vs} data-testid="flame-vs">
      {range === null
        ? t('range.againstRest')
        : t('range.againstRange', { from: clockTime(range.from), span: duration(lengthOf(range)) })}
      {range !== null && mine !== null && (
        <ActionIcon
          size={22}
          aria-label={t('range.swap')}
          title={t('range.swap')}
          onClick={() =>
            change((before) =>
              withSettings(
                { ...before, filters: { ...before.filters, since_ns: range.from, until_ns: range.to } },
                { vs: formatRange(mine) },
              ),
            )
          }
          data-testid="flame-vs-swap"
        >
          <IconArrowsExchange size={14} />
        </ActionIcon>
      )}
      <ActionIcon
        size={22}
        aria-label={t('range.noComparison')}
        title={t('range.noComparison')}
        onClick={() => change((before) => withSettings(before, { vs: undefined }))}
        data-testid="flame-vs-clear"
      >
        <IconX size={14} />
      </ActionIcon>
    </span>
  );
}

/** From the driver down to a frame; of a long way its beginning and its end. */
function Crumbs({ node, onGo }: { node: Node; onGo: (frame: string) => void }) {
  const nameOf = useFrameName();
  const line = lineOf(node).map((one) => one.frame);
  const last = line.pop();
  const shown = line.length > CRUMBS ? [...line.slice(0, 1), null, ...line.slice(1 - CRUMBS)] : line;
  return (
    <>
      {shown.map((frame) => (
        <Fragment key={frame?.id ?? 'between'}>
          {frame === null ? (
            <span className="rs-dim">…</span>
          ) : (
            <button type="button" className={`${css.crumb} rs-ellipsis`} onClick={() => onGo(frame.id)}>
              {nameOf(frame)}
            </button>
          )}
          <span className="rs-dim" aria-hidden>
            ›
          </span>
        </Fragment>
      ))}
      {last && <b className="rs-ellipsis">{nameOf(last)}</b>}
    </>
  );
}

/** How much there is, how much of it the search found, and what was merged. */
function Found({ answer, zoomed }: { answer: FlameAnswer; zoomed: Node }) {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  const matches = matcher(url.settings?.find);
  const hits = matches && found(zoomed, matches);
  return (
    <span className={`${css.found} rs-num`} role="status" data-testid="flame-status">
      {hits ? (
        <b>
          {t('flame.found', {
            n: count(hits.frames),
            share: shareText(hits.value, zoomed.frame.value),
          })}
        </b>
      ) : (
        t(answer.weight === 'count' ? 'flame.wholeCount' : 'flame.whole', {
          value: valueText(answer.total, answer.weight),
          n: count(answer.attempts),
        })
      )}
      {answer.folded > 0 && (
        <span className="rs-dim" title={t('flame.foldedHint')}>
          {t('flame.folded', { n: count(answer.folded), all: count(answer.frames_total) })}
        </span>
      )}
    </span>
  );
}

function weightLabel(weight: Weight, t: TFunction) {
  const isTime = weight === 'executing' || weight === 'duration';
  return (
    <span title={isTime ? t(`timeHint.${weight}`) : t(`flame.weightHint.${weight}`)}>
      {isTime ? t(`time.${weight}`) : t(`flame.weights.${weight}`)}
    </span>
  );
}

function Controls(props: { weight: Weight; order: (typeof ORDERS)[number] }) {
  const [url, change] = useSessionUrl();
  const { t } = useTranslation();
  const jobs = useChoices(url.session, '/jobs');
  const names = useMemo(
    () => [...new Set((jobs.data?.items ?? []).map((job) => String(job.job_id ?? '')))].filter(Boolean),
    [jobs.data],
  );
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
          change((before) => withSettings(before, { weight: value === 'executing' ? undefined : value }))
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
              label: t('flame.against', { job: value }),
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
