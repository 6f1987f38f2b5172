import { IconFlame } from '@tabler/icons-react';
import { useMemo, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { FlameAnswer, LinesAnswer, Summary } from '../../api/schema';
import { count } from '../../base/format';
import { REPORT } from '../../base/report';
import { onlyMineOf, taskFilters, withSettings } from '../../base/url';
import { EmptyState, NoMatches } from '../../ui/EmptyState';
import { ErrorPanel } from '../../ui/ErrorPanel';
import { FilterBar } from '../../ui/FilterBar';
import { useLines } from '../../ui/HotLines';
import { useKeys } from '../../ui/useKeys';
import { useSessionUrl } from '../../ui/useUrl';
import { SaveMenu } from '../shared/SaveMenu';
import { comparedRange } from './comparedRange';
import { FlameCanvas } from './FlameCanvas';
import { FlameControls } from './FlameControls';
import { FlameCrumbs } from './FlameCrumbs';
import { FlameFunctions } from './FlameFunctions';
import { FlameLines } from './FlameLines';
import { FlamePanel } from './FlamePanel';
import { FlameStatus } from './FlameStatus';
import css from './FlameView.module.css';
import { type Node, ORDERS, toNodes, WEIGHTS } from './flame';
import { lineNodes } from './lineNodes';
import { type FlameParams, useFlame } from './useFlame';

/** The answers to a request that stay while the pointer is in the graph. */
interface Held {
  requestKey: string;
  data: FlameAnswer;
  sampled: LinesAnswer | undefined;
}

/** The time of all attempts by call path. */
export default function FlameView({ summary }: { summary: Summary | undefined }) {
  const picture = useRef<HTMLCanvasElement | null>(null);
  const [url, change] = useSessionUrl();
  const { t } = useTranslation();
  const { settings = {} } = url;
  const wanted = WEIGHTS.find((one) => one === settings.weight) ?? 'critical_path';
  const order = ORDERS.find((one) => one === settings.order) ?? 'size';
  const base: FlameParams = { session: url.session, ...taskFilters(url.filters), only: onlyMineOf(url) };
  const compared = comparedRange(url);
  const relative = compared !== null;
  // The critical path takes longer to compute. Until it is known, the graph shows execution time.
  const isWhole =
    !relative &&
    settings.baseline === undefined &&
    Object.keys(url.filters).every((filter) => filter === 'job_id');
  const wantsPath = wanted === 'critical_path';
  const onPath = useFlame({ ...base, weight: 'critical_path' }, settings.frame, wantsPath && isWhole);
  // Without the tracer, the critical path does not lead through tasks.
  const hasPath =
    wantsPath &&
    isWhole &&
    onPath.data?.frames.some((one) => (one.kind === 'call' || one.kind === 'library') && one.value > 0) ===
      true;
  const weight = !wantsPath ? wanted : hasPath ? 'critical_path' : 'executing';
  const params: FlameParams = { ...base, weight, ...(compared ?? { baseline_job_id: settings.baseline }) };
  const other = useFlame(params, settings.frame, !hasPath);
  const flame = hasPath ? onPath : other;
  const instead = !isWhole ? 'range' : onPath.isPending ? 'pending' : 'failed';

  // Show the same answer until the pointer leaves the graph or the request changes, so that nothing moves
  // under the pointer.
  const requestKey = JSON.stringify([params, settings.frame]);
  const [kept, setKept] = useState<Held | null>(null);
  const held = kept?.requestKey === requestKey ? kept : null;
  const data = held?.data ?? flame.data;

  const nodes = useMemo(() => (data === undefined ? null : toNodes(data)), [data]);
  const root = nodes?.values().next().value ?? null;
  const zoomed = (settings.frame !== undefined && nodes?.get(settings.frame)) || root;
  const func_name = zoomed?.frame.kind === 'call' ? zoomed.frame.name : null;
  // A report has the lines without their stacks.
  const hasLines = REPORT === null && func_name !== null && zoomed?.frame.baseline_value === null;
  const newest = useLines({ ...url.filters, func_name: func_name ?? '' }, hasLines);
  const sampled = held?.sampled ?? newest;
  const hold = (on: boolean) => {
    if (!on) setKept(null);
    else if (held === null && data && !flame.outdated) setKept({ requestKey, data, sampled });
  };
  const wantsLines = settings.lines !== undefined && hasLines;
  const lines = useMemo(
    () =>
      wantsLines && zoomed && sampled?.is_enough
        ? lineNodes(zoomed, sampled, (kind) => t(`flame.lost.${kind}`))
        : null,
    [wantsLines, zoomed, sampled, t],
  );
  /** The zoomed line of code, or the function. */
  const shown = lines?.get(settings.lines ?? '') ?? lines?.get(zoomed?.frame.id ?? '') ?? zoomed;
  const zoom = (frame: string | undefined) =>
    change((before) =>
      frame !== undefined && lines?.has(frame)
        ? withSettings(before, { lines: frame })
        : withSettings(before, { frame: frame === root?.frame.id ? undefined : frame, lines: undefined }),
    );

  const zoomTo = (node: Node | undefined) =>
    zoom(node?.frame.kind === 'other' ? node.parent?.frame.id : node?.frame.id);

  const above = shown?.parent?.frame.id;
  const zoomedIn = settings.frame !== undefined;
  const drawer = url.task !== undefined;
  useKeys(
    t('nav.flame'),
    zoomedIn && !drawer
      ? [
          {
            keys: ['Escape'],
            label: t('keys.zoomOut'),
            run: () => zoom(above),
          },
        ]
      : [],
  );

  const filtered = Object.keys(url.filters).length > 0;
  return (
    <>
      <FilterBar
        summary={summary}
        menu={
          <SaveMenu
            view="flame"
            disabled={data === undefined || data.total === 0}
            picture={picture}
            data={data}
          />
        }
      />
      <FlameControls weight={weight} order={order} />
      {flame.error !== null && data === undefined ? (
        <ErrorPanel error={flame.error} onRetry={() => void flame.refetch()} />
      ) : data === undefined || zoomed === null || shown === null || nodes === null ? (
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
              <FlameCrumbs node={shown} onGo={zoom} />
              {hasLines && sampled !== undefined && <FlameLines answer={sampled} of={zoomed} node={shown} />}
              {lines === null && (
                <FlameStatus
                  answer={data}
                  zoomed={zoomed}
                  instead={wantsPath && !hasPath ? instead : undefined}
                />
              )}
            </div>
            {data.total === 0 && !data.baseline_total ? (
              <EmptyState icon={<IconFlame size={26} />} title={t(`flame.nothing.${data.weight}`)}>
                {t('flame.attemptsOf', { n: count(data.attempts) })}
              </EmptyState>
            ) : (
              <>
                <FlameCanvas
                  answer={data}
                  zoomed={shown}
                  order={lines === null ? order : 'size'}
                  find={settings.find}
                  frames={lines?.size ?? data.frames_total}
                  relative={relative}
                  picture={picture}
                  onZoom={zoomTo}
                  onHold={hold}
                />
                {lines === null && (
                  <FlameFunctions
                    answer={data}
                    zoomed={zoomed}
                    relative={relative}
                    onZoom={(id) => zoomTo(nodes.get(id))}
                  />
                )}
              </>
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
