import { Group, Switch } from '@mantine/core';
import { IconStack2 } from '@tabler/icons-react';
import { useCallback, useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Summary } from '../../api/schema';
import { count } from '../../base/format';
import { Dot } from '../../ui/Dot';
import { EmptyState, NoMatches } from '../../ui/EmptyState';
import { ErrorPanel } from '../../ui/ErrorPanel';
import { FilterBar } from '../../ui/FilterBar';
import { usePausedTasks } from '../../ui/PausedMark';
import layout from '../../ui/theme/layout.module.css';
import words from '../../ui/theme/words.module.css';
import { FindBox } from '../shared/FindBox';
import panels from '../shared/panels.module.css';
import { SaveMenu } from '../shared/SaveMenu';
import { TimeSlider } from '../shared/TimeSlider';
import { useShownMoment } from '../shared/useShownMoment';
import { FrameDetail, FramesPanel, TakeFrames } from './FramesPanel';
import { withFrames } from './frames';
import { Chains, NodeDetail } from './StackDetail';
import { StackTree, situationColor } from './StackTree';
import css from './StackView.module.css';
import { bySituation, lines, pausedIn } from './stack';
import { useFrames } from './useFrames';
import { useStack } from './useStack';

/** The call stack at one time: from the drivers down, with equal branches merged, and the wait chains. */
export default function StackView({ summary }: { summary: Summary | undefined }) {
  const { url, settings, activity, at, isNamed, isReady, set } = useShownMoment();
  const { t } = useTranslation();
  const stack = useStack(url.session, at, url.filters, isReady);
  const taken = useFrames(url.session, url.filters);
  const [whole, setWhole] = useState(false);
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const search = settings.find ?? '';
  const awaited = settings.awaited === '1';
  const { data } = stack;
  const atNs = at === undefined ? (data?.at_ns ?? null) : Number(at);

  const select = useCallback((id: string) => set({ node: id }), [set]);
  const open = useCallback((id: string, now: boolean) => {
    setClosed((before) => {
      const next = new Set(before);
      if (now) next.delete(id);
      else next.add(id);
      return next;
    });
  }, []);
  // Frames are current, so they do not apply to another session or time.
  const frames = at === undefined && taken.data?.session === url.session ? taken.data : undefined;
  const failed = at === undefined ? taken.error : null;
  const why =
    data?.live === false
      ? t('frames.ended')
      : at !== undefined
        ? t('frames.notNow')
        : data?.in_flight === 0
          ? t('frames.nobody')
          : null;
  const take = (node?: string, all = whole) => taken.mutate({ node, whole: all });
  const shown = useMemo(
    () => withFrames(lines(data?.nodes ?? [], closed, awaited, search), frames, closed, search),
    [data?.nodes, frames, closed, awaited, search],
  );
  const tasks = usePausedTasks();
  const paused = useMemo(
    () => pausedIn(data?.nodes ?? [], at === undefined ? tasks : [], url.filters),
    [data?.nodes, tasks, at, url.filters],
  );
  const matches = shown.filter((row) => row.match);
  const situations = useMemo(() => bySituation(data?.nodes ?? []), [data?.nodes]);
  const folded = (data?.in_flight ?? 0) - situations.reduce((sum, [, number]) => sum + number, 0);
  const selected = data?.nodes.find((node) => node.id === settings.node);
  const frame = shown.find((row) => row.id === settings.node)?.frame;
  const filtered = Object.keys(url.filters).length > 0;

  const next = () => {
    const after = matches.findIndex((row) => row.id === settings.node);
    const target = matches[(after + 1) % matches.length];
    if (target !== undefined) select(target.id);
  };
  return (
    <div className={layout.view} data-testid="stack-view">
      <FilterBar
        summary={summary}
        menu={<SaveMenu view="stack" disabled={data === undefined} data={{ ...data, frames }} />}
      />
      <TimeSlider
        activity={activity}
        at={atNs}
        follows={!isNamed}
        live={data?.live ?? false}
        onAt={(ns) => set({ at: ns === undefined ? undefined : String(ns) })}
      />
      <div className={panels.bar}>
        <span className={words.num} data-testid="stack-count">
          {data === undefined ? t('stack.loading') : t('stack.count', { n: count(data.in_flight) })}
        </span>
        {situations.map(([situation, number]) => (
          <span
            key={situation}
            className={`${words.state} ${words.num}`}
            title={t(`stack.hint.${situation}`)}
          >
            <Dot color={situationColor(situation)} />
            {t(`stack.situation.${situation}`)} <b>{count(number)}</b>
          </span>
        ))}
        {folded > 0 && (
          <span className={`${words.dim} ${words.num}`} title={t('stack.foldedHint')}>
            {t('stack.inFolded', { n: count(folded) })}
          </span>
        )}
        <Group gap={12} justify="flex-end" ml="auto">
          <TakeFrames why={why} taking={taken.isPending} onTake={() => take()} />
          <Switch
            size="xs"
            label={t('stack.only')}
            checked={awaited}
            onChange={(event) => set({ awaited: event.currentTarget.checked ? '1' : undefined })}
            data-testid="stack-only"
          />
          <FindBox
            view="stack"
            label={t('stack.find')}
            found={
              search.trim() === '' ? null : (
                <span className={`${words.num} ${words.dim}`}>{count(matches.length)}</span>
              )
            }
            onEnter={next}
          />
        </Group>
      </div>
      {stack.error !== null && data === undefined ? (
        <ErrorPanel error={stack.error} onRetry={() => void stack.refetch()} />
      ) : data !== undefined && data.nodes.length === 0 ? (
        <div className={`${layout.viewBody} ${panels.body}`}>
          {filtered ? (
            <NoMatches title={t('stack.emptyFiltered')} />
          ) : (
            <EmptyState icon={<IconStack2 size={26} />} title={t('stack.empty')}>
              {t(activity?.begin_ns == null ? 'table.emptyLive' : 'stack.emptyText')}
            </EmptyState>
          )}
        </div>
      ) : (
        data !== undefined && (
          <div
            className={`${layout.viewBody} ${panels.body}`}
            data-outdated={stack.isPlaceholderData || undefined}
          >
            <div className={`${layout.viewMain} ${panels.left}`}>
              {(data.folded_nodes > 0 || data.left_out > 0 || data.callers_left_out) && (
                <div className={`${panels.note} ${words.dim}`}>
                  {data.folded_nodes > 0 && t('stack.truncated', { n: count(data.folded_nodes) })}{' '}
                  {data.left_out > 0 && t('stack.leftOut', { n: count(data.left_out) })}{' '}
                  {data.callers_left_out && t('range.callersLeftOut')}
                </div>
              )}
              {shown.length === 0 ? (
                <EmptyState icon={<IconStack2 size={26} />} title={t('stack.nothingAwaited')} />
              ) : (
                <StackTree
                  rows={shown}
                  paused={paused}
                  at={atNs}
                  search={search}
                  selected={selected?.id ?? frame?.id}
                  onSelect={select}
                  onOpen={open}
                />
              )}
            </div>
            <div className={`${panels.side} ${css.right}`} data-under-drawer>
              {selected !== undefined && atNs !== null ? (
                <NodeDetail
                  node={selected}
                  nodes={data.nodes}
                  paused={paused.get(selected.id) ?? []}
                  at={atNs}
                  onSelect={select}
                  onFrames={why === null ? () => take(selected.id) : undefined}
                />
              ) : frame !== undefined && frames !== undefined ? (
                <FrameDetail frame={frame} frames={frames} />
              ) : (
                <p className={`${words.dim} ${css.choose}`}>{t('stack.choose')}</p>
              )}
              {(frames !== undefined || failed !== null) && (
                <FramesPanel
                  frames={frames}
                  error={failed}
                  whole={whole}
                  taking={taken.isPending}
                  onWhole={(all) => {
                    setWhole(all);
                    take(taken.variables?.node, all);
                  }}
                  onClear={taken.reset}
                />
              )}
              <Chains stack={data} onSelect={select} />
            </div>
          </div>
        )
      )}
    </div>
  );
}
