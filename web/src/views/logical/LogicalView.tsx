import { Button, Checkbox, Loader, Menu, SegmentedControl, Tooltip } from '@mantine/core';
import { IconDownload, IconSitemap } from '@tabler/icons-react';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useEffect, useMemo, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ApiError, get } from '../../api/client';
import { refreshInterval } from '../../api/connection';
import { useSessionInterval } from '../../api/queries';
import type { Summary } from '../../api/types';
import { download } from '../../base/download';
import { count, duration } from '../../base/format';
import { withSettings } from '../../base/url';
import { usePalette } from '../../ui/canvas';
import { EmptyState, NoMatches } from '../../ui/EmptyState';
import { ErrorPanel } from '../../ui/ErrorPanel';
import { FilterBar } from '../../ui/FilterBar';
import { useSessionUrl } from '../../ui/useUrl';
import { FindBox } from '../shared/FindBox';
import { LogicalPanel } from './LogicalPanel';
import css from './LogicalView.module.css';
import { toPng, toSvg } from './logicalExport';
import { keepKnown, layout, type Places } from './logicalLayout';
import {
  type LogicalAnswer,
  matches,
  type Shown,
  shownEdges,
  structureOf,
  toggleShown,
  toggleUnfolded,
  unfolded,
  WEIGHTS,
  weightOf,
} from './logicalModel';
import { nodeName } from './logicalNames';

const LogicalCanvas = lazy(() =>
  import('./LogicalCanvas').then((found) => ({ default: found.LogicalCanvas })),
);

/** Functions and actor classes, who calls whom, and whose data goes where. */
export function LogicalView({ summary }: { summary: Summary | undefined }) {
  const [url, change] = useSessionUrl();
  const { t } = useTranslation();
  const graph = useLogical();
  const answer = graph.data;
  const weight = weightOf(url.settings);
  const hidden = url.settings?.hide;
  const shown = useMemo<Shown>(() => shownEdges({ hide: hidden }), [hidden]);
  const find = url.settings?.find ?? '';
  const question = JSON.stringify([url.session, url.filters, url.settings?.expand]);
  const { places, laid, failed, arrange, arranged } = useLayout(
    graph.isPlaceholderData ? undefined : answer,
    question,
    url.session,
  );
  const selected = laid?.nodes.find((node) => node.id === url.settings?.node);
  const select = (id: string | undefined) =>
    change((before) => withSettings(before, { node: id }), { replace: true });
  const filtered = Object.keys(url.filters).length > 0;
  return (
    <>
      <FilterBar
        summary={summary}
        right={
          answer && (
            <span className="rs-num rs-dim" data-testid="logical-count" data-attempts={answer.attempts}>
              {t('logical.shown', { nodes: count(answer.nodes.length), attempts: count(answer.attempts) })}
            </span>
          )
        }
      />
      <Toolbar answer={laid} places={places} shown={shown} />
      {answer && <Notes answer={answer} />}
      <div className="rs-logical" data-outdated={graph.isPlaceholderData || undefined}>
        {graph.error !== null && answer === undefined ? (
          <ErrorPanel error={graph.error} onRetry={() => void graph.refetch()} />
        ) : failed !== null && laid === undefined ? (
          <ErrorPanel
            error={new ApiError(0, 'layout', failed.message, t('logical.layoutRemedy'))}
            title={t('logical.layoutFailed')}
            onRetry={arrange}
          />
        ) : answer?.nodes.length === 0 ? (
          filtered ? (
            <NoMatches />
          ) : (
            <EmptyState icon={<IconSitemap size={26} />} title={t('logical.empty')}>
              {t('logical.emptyText')}
            </EmptyState>
          )
        ) : laid === undefined || places === undefined ? (
          <Laying />
        ) : (
          <Suspense fallback={<Laying />}>
            <LogicalCanvas
              graph={laid}
              places={places}
              question={arranged}
              weight={weight}
              shown={shown}
              find={find}
              selected={selected?.id}
              onSelect={select}
              onUnfold={(name) =>
                change((before) =>
                  withSettings(before, { expand: toggleUnfolded(before.settings, name), node: undefined }),
                )
              }
              onArrange={arrange}
            />
          </Suspense>
        )}
        {selected !== undefined && laid !== undefined && answer?.nodes.length !== 0 && (
          <LogicalPanel graph={laid} node={selected} onSelect={select} />
        )}
      </div>
    </>
  );
}

function Laying() {
  const { t } = useTranslation();
  return (
    <div className={css.wait} role="status">
      <Loader size="sm" /> <span className="rs-dim">{t('logical.laying')}</span>
    </div>
  );
}

function useLogical() {
  const [url] = useSessionUrl();
  const pace = useSessionInterval(url.session);
  const took = useRef(0);
  const expand = url.settings?.expand;
  return useQuery({
    queryKey: ['logical', url.session, url.filters, expand],
    queryFn: async ({ signal }) => {
      const query = new URLSearchParams({ session: url.session });
      for (const [name, value] of Object.entries(url.filters)) if (value) query.set(name, value);
      for (const name of unfolded({ expand })) query.append('expand', name);
      const begin = performance.now();
      const answer = await get<LogicalAnswer>(`/flow/logical?${query}`, undefined, signal);
      took.current = performance.now() - begin;
      return answer;
    },
    placeholderData: (before, query) =>
      query?.queryKey[1] === url.session ? keepPreviousData(before) : undefined,
    // A large record is not asked all the time.
    refetchInterval: () => Math.max(refreshInterval(pace), 10 * took.current),
  });
}

interface Laid {
  /** The question whose layout this is, and the structure that was laid out. */
  question: string;
  structure: string;
  places: Places;
}

/** Where the nodes stand, and the graph they are of. New numbers move nothing; new nodes move no others. */
function useLayout(answer: LogicalAnswer | undefined, question: string, session: string) {
  const [state, setState] = useState<Laid>();
  const [laid, setGraph] = useState<LogicalAnswer>();
  const [failed, setFailed] = useState<Error | null>(null);
  const [turn, setTurn] = useState(0);
  const latest = useRef<{ state?: Laid; turn: number }>({ turn: 0 });
  const asked = `${question}#${turn}`;
  const running = useRef<{ asked: string }>(undefined);
  const [done, setDone] = useState(0);
  useEffect(
    () => () => {
      running.current = undefined;
    },
    [],
  );
  // biome-ignore lint/correctness/useExhaustiveDependencies: `done` is when to look at what came meanwhile.
  useEffect(() => {
    if (answer === undefined) return;
    const structure = structureOf(answer);
    const known = latest.current.state;
    if (known?.question === asked && known.structure === structure) {
      setGraph(answer);
      return;
    }
    // One at a time: answers come faster than a large graph is laid out.
    if (running.current?.asked === asked) return;
    const mine = { asked };
    running.current = mine;
    layout(answer)
      .then((fresh) => {
        if (running.current !== mine) return;
        running.current = undefined;
        const places = known?.question === asked ? keepKnown(known.places, fresh, answer) : fresh;
        const next = { question: asked, structure, places };
        latest.current.state = next;
        setState(next);
        setGraph(answer);
        setFailed(null);
        setDone((before) => before + 1);
      })
      .catch((error: unknown) => {
        if (running.current !== mine) return;
        running.current = undefined;
        setFailed(error instanceof Error ? error : new Error(String(error)));
      });
  }, [answer, asked, done]);
  return {
    places: state?.places,
    laid: laid?.session === session ? laid : undefined,
    failed,
    arrange: () => setTurn((before) => before + 1),
    /** Changes with the layout of another question. */
    arranged: state?.question ?? '',
  };
}

function Notes({ answer }: { answer: LogicalAnswer }) {
  const { t } = useTranslation();
  const { folded } = answer;
  const notes = [
    ...(folded.functions > 0
      ? [
          t('logical.folded', {
            n: count(folded.functions),
            attempts: count(folded.attempts),
            time: duration(folded.duration_ns),
            limit: count(answer.limit),
          }),
        ]
      : []),
    ...(folded.drivers > 0 ? [t('logical.foldedDrivers', { n: count(folded.drivers) })] : []),
    ...Object.entries(folded.instances).map(([name, n]) =>
      t('logical.foldedInstances', { name, n: count(n) }),
    ),
    ...Object.entries(folded.calls).map(([name, n]) => t('logical.foldedCalls', { name, n: count(n) })),
    ...(answer.data_unnamed > 0 ? [t('logical.unnamed', { n: count(answer.data_unnamed) })] : []),
    ...(answer.data_sampled > 1 ? [t('logical.sampled', { n: count(answer.data_sampled) })] : []),
    ...(answer.is_estimated ? [t('logical.estimated')] : []),
  ];
  if (notes.length === 0) return null;
  return (
    <div className={css.notes} data-testid="logical-notes">
      {notes.join(' ')}
    </div>
  );
}

function Toolbar(props: { answer: LogicalAnswer | undefined; places: Places | undefined; shown: Shown }) {
  const [url, change] = useSessionUrl();
  const { t } = useTranslation();
  const { answer, places, shown } = props;
  const palette = usePalette();
  const find = url.settings?.find ?? '';
  const found = find.trim() === '' ? null : (answer?.nodes.filter((node) => matches(node, find)).length ?? 0);
  const picture = () =>
    answer &&
    places &&
    toSvg(answer, places, shown, palette.scheme, (node) => nodeName(t, node, node.kind === 'driver'));
  const name = `${url.session}-logical`;
  return (
    <div className={css.toolbar}>
      <FindBox view="logical" label={t('logical.find')} />
      {found !== null && (
        <span className="rs-dim rs-num" role="status" data-testid="logical-found">
          {found === 0 ? t('logical.notFound') : t('logical.found', { n: count(found) })}
        </span>
      )}
      <SegmentedControl
        size="xs"
        aria-label={t('logical.color')}
        value={weightOf(url.settings)}
        onChange={(value) =>
          change((before) => withSettings(before, { weight: value === 'state' ? undefined : value }))
        }
        data={WEIGHTS.map((weight) => ({
          value: weight,
          label:
            weight === 'executing' || weight === 'blocked'
              ? t(`time.${weight}`)
              : t(`logical.weight.${weight}`),
        }))}
        data-testid="logical-weight"
      />
      {(['calls', 'data'] as const).map((kind) => (
        <Tooltip key={kind} label={t(`logical.${kind}Hint`)}>
          <div>
            <Checkbox
              size="xs"
              label={
                <span className={css.legend} data-kind={kind}>
                  {t(`logical.${kind}`)}
                </span>
              }
              checked={shown[kind]}
              onChange={() => change((before) => withSettings(before, { hide: toggleShown(shown, kind) }))}
              data-testid={`logical-show-${kind}`}
            />
          </div>
        </Tooltip>
      ))}
      <div className="rs-filters-right">
        <Menu position="bottom-end" withinPortal>
          <Menu.Target>
            <Button
              size="compact-xs"
              variant="default"
              leftSection={<IconDownload size={14} />}
              disabled={!answer || !places || answer.nodes.length === 0}
              data-testid="logical-export"
            >
              {t('logical.export')}
            </Button>
          </Menu.Target>
          <Menu.Dropdown>
            <Menu.Item
              data-testid="logical-export-svg"
              onClick={() => {
                const made = picture();
                if (made) download(`${name}.svg`, new Blob([made.svg], { type: 'image/svg+xml' }));
              }}
            >
              {t('logical.exportSvg')}
            </Menu.Item>
            <Menu.Item
              data-testid="logical-export-png"
              onClick={() => {
                const made = picture();
                if (made) void toPng(made).then((blob) => download(`${name}.png`, blob));
              }}
            >
              {t('logical.exportPng')}
            </Menu.Item>
            <Menu.Item
              data-testid="logical-export-json"
              onClick={() =>
                download(
                  `${name}.json`,
                  new Blob([JSON.stringify(answer, null, 2)], { type: 'application/json' }),
                )
              }
            >
              {t('logical.exportJson')}
            </Menu.Item>
          </Menu.Dropdown>
        </Menu>
      </div>
    </div>
  );
}
