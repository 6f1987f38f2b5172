import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { ApiError } from '../../api/client';
import type { TransfersAnswer } from '../../api/schema';
import { bytes, count } from '../../base/format';
import { NONE } from '../../base/grid';
import { toView } from '../../base/url';
import { usePalette } from '../../ui/canvas';
import { Section } from '../../ui/Drawer';
import { Link } from '../../ui/Link';
import words from '../../ui/theme/words.module.css';
import { useServerMessage } from '../../ui/useServerMessage';
import { useSessionUrl } from '../../ui/useUrl';
import panels from '../shared/panels.module.css';
import css from './PhysicalOverview.module.css';
import { type Color, numeric, type Physical } from './physical';
import { groupColor } from './physicalColor';
import { ReservedResources } from './ReservedResources';

/** Maximum number of legend entries. */
const NAMED = 12;
/** Maximum number of node pairs that are listed. */
const PAIRS = 15;

/** Reserved and total resources of the whole cluster. */
export function ClusterSums({ data }: { data: Physical }) {
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  const sums = useMemo(() => {
    const total: Record<string, number> = {};
    const used: Record<string, number> = {};
    for (const node of data.nodes) {
      for (const [name, value] of Object.entries(node.total ?? {})) total[name] = (total[name] ?? 0) + value;
      for (const [name, value] of Object.entries(node.used)) used[name] = (used[name] ?? 0) + value;
    }
    return { total, used };
  }, [data.nodes]);
  return (
    <Section title={t('physical.cluster')}>
      <ReservedResources node={sums} />
      <p className={`${words.dim} ${css.note}`}>
        {t('physical.notMeasured')}{' '}
        <Link to={toView(url, 'nodes')} className={`${words.link} ${words.inText}`}>
          {t('nodes.useOfNodes')}
        </Link>
      </p>
    </Section>
  );
}

/** Explains colours, shapes and outlines. */
export function Legend({ data, color }: { data: Physical; color: Color }) {
  const { t } = useTranslation();
  const palette = usePalette();
  const { workers } = data;
  const [names, column] = {
    function: [data.functions, workers.function] as const,
    class: [data.classes, workers.actor_class] as const,
    job: [data.jobs, workers.job] as const,
    annotation: [data.values, workers.annotation] as const,
    resource: [[], []] as const,
    measured: [[], []] as const,
  }[color.by];
  const counted = useMemo(() => {
    const counts = names.map(() => 0);
    for (const place of column) if (place !== NONE) counts[place] = (counts[place] ?? 0) + 1;
    return names
      .map((name, at) => [name, counts[at] ?? 0] as const)
      .sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  }, [names, column]);
  const numbers = color.by === 'annotation' ? numeric(data.values) : null;
  const groups = useMemo(
    () => [...new Map(data.bundles.map((bundle) => [bundle.group, bundle.name])).entries()],
    [data.bundles],
  );
  const scale = color.by === 'resource' || color.by === 'measured' || numbers !== null;
  return (
    <Section title={t('physical.legend')} testId="physical-legend">
      {scale ? (
        <div className={css.scale}>
          <span>{numbers === null ? '0%' : numbers.least}</span>
          <span
            className={css.ramp}
            style={
              { '--rs-ramp': palette.tone(numbers === null ? 'busy' : 'waiting') } as React.CSSProperties
            }
          />
          <span>{numbers === null ? '100%' : numbers.most}</span>
        </div>
      ) : (
        <ul className={css.names}>
          {counted.slice(0, NAMED).map(([name, n]) => (
            <li key={name}>
              <span className={panels.swatch} style={{ background: palette.named(name) }} />
              <span className={words.ellipsis} title={name}>
                {name || (color.by === 'function' ? t('physical.unnamed') : '–')}
              </span>
              <span className={`${words.num} ${words.dim} ${css.amount}`}>{count(n)}</span>
            </li>
          ))}
          {counted.length > NAMED && (
            <li className={words.dim}>{t('physical.moreNames', { n: count(counted.length - NAMED) })}</li>
          )}
          {counted.length === 0 && <li className={words.dim}>{t('physical.noNames')}</li>}
        </ul>
      )}
      {color.by === 'measured' && (
        <p className={`${words.dim} ${css.note}`} data-testid="physical-measured">
          {t(data.measured === null ? 'nodes.measuredNowOnly' : `nodes.measuredOf.${color.name}`)}
        </p>
      )}
      {color.by === 'resource' && (
        <p className={`${words.dim} ${css.note}`}>{t('physical.shareOf', { name: color.name })}</p>
      )}
      <ul className={css.shapes}>
        <li>
          <span className={css.shape} data-shape="driver" /> {t('physical.driver')}
        </li>
        <li>
          <span className={css.shape} data-shape="actor" /> {t('physical.actor')}
        </li>
        <li>
          <span className={css.shape} data-shape="idle" /> {t('physical.idle')}
        </li>
        <li>
          <span className={css.shape} data-shape="blocked" /> {t('physical.blocked')}
        </li>
        {groups.slice(0, NAMED).map(([id, name]) => (
          <li key={id} title={id}>
            <span
              className={css.shape}
              data-shape="group"
              style={{ borderColor: groupColor(id, palette.scheme) }}
            />{' '}
            <span className={words.ellipsis}>{name || id.slice(0, 8)}</span>
          </li>
        ))}
        {groups.length > NAMED && (
          <li className={words.dim}>{t('physical.moreGroups', { n: count(groups.length - NAMED) })}</li>
        )}
      </ul>
    </Section>
  );
}

/** The objects that were transferred between nodes, from and to one node or all of them. */
export function TransferList(props: {
  transfers: TransfersAnswer | undefined;
  error: Error | null;
  names: ReadonlyMap<string, string>;
  node: string | undefined;
  onNode: (id: string) => void;
}) {
  const { transfers, names, node } = props;
  const { t } = useTranslation();
  const translate = useServerMessage();
  const pairs = (transfers?.pairs ?? []).filter(
    (pair) => node === undefined || pair.source === node || pair.target === node,
  );
  const end = (id: string) => (
    <button
      type="button"
      className={panels.jump}
      disabled={!names.has(id)}
      title={names.has(id) ? id : t('physical.nodeGone', { id })}
      onClick={() => props.onNode(id)}
    >
      {names.get(id) ?? id.slice(0, 8)}
    </button>
  );
  return (
    <Section title={t('physical.transfers')} testId="physical-transfers">
      {props.error !== null && transfers === undefined && (
        <p className={words.dim}>
          {props.error instanceof ApiError ? translate(props.error).message : props.error.message}
        </p>
      )}
      {transfers !== undefined && node === undefined && transfers.objects > 0 && (
        <p className={css.note}>
          {t('physical.transferSum', { n: count(transfers.objects), size: bytes(transfers.bytes) })}
        </p>
      )}
      {transfers !== undefined && pairs.length === 0 && (
        <p className={words.dim}>
          {t(
            names.size === 1
              ? 'physical.oneNode'
              : node === undefined
                ? 'physical.noTransfers'
                : 'physical.noTransfersHere',
          )}
        </p>
      )}
      <ul>
        {pairs.slice(0, PAIRS).map((pair) => (
          <li key={`${pair.source} ${pair.target}`} className={css.pair}>
            {end(pair.source)} <span aria-hidden>→</span> {end(pair.target)}
            <span className={`${words.num} ${css.amount}`}>
              {bytes(pair.bytes)} <span className={words.dim}>{count(pair.objects)}×</span>
            </span>
          </li>
        ))}
      </ul>
      {transfers !== undefined && node === undefined && transfers.pairs_total > PAIRS && (
        <p className={words.dim}>{t('physical.morePairs', { n: count(transfers.pairs_total - PAIRS) })}</p>
      )}
      {transfers !== undefined && transfers.sampled > 1 && (
        <p className={words.dim}>{t('physical.sampled', { n: count(transfers.sampled) })}</p>
      )}
    </Section>
  );
}
