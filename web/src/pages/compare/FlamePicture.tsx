import { SegmentedControl, TextInput } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import { useMemo, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { answerTo } from '../../api/queries';
import type { FlameAnswer } from '../../api/schema';
import { count } from '../../base/format';
import words from '../../ui/theme/words.module.css';
import { useKeys } from '../../ui/useKeys';
import { SessionContext } from '../../ui/useUrl';
import { type ComparedRuns, FlameCanvas } from '../../views/flame/FlameCanvas';
import { FlameCrumbs } from '../../views/flame/FlameCrumbs';
import { found, matcher, shareText, toNodes } from '../../views/flame/flame';
import { valueText } from '../../views/flame/flameText';
import { SaveMenu } from '../../views/shared/SaveMenu';
import { Legend } from './Legend';
import { changeOf, dataOf, type FramePair, isOneSided, type MergedFlames, mergeFlames } from './mergeFlames';
import css from './Pictures.module.css';
import type { PictureProps, SideName } from './sides';
import { TwoAnswers, useTwoAnswers } from './TwoAnswers';
import { useRunState } from './useRunState';

/** Height of the picture: with space for a tooltip below a graph of few rows, px. */
const MIN_HEIGHT = 160;
const ROW = 40;
const MAX_HEIGHT = 480;

const WEIGHTS = ['executing', 'critical_path'] as const;

/** One flame graph of the call paths of both runs. Its colors show the change. */
export default function FlamePicture({ runs }: PictureProps) {
  const { t } = useTranslation();
  const [weight, setWeight] = useState<(typeof WEIGHTS)[number]>('executing');
  const [width, setWidth] = useState<SideName>('b');
  const [find, setFind] = useState('');
  const state = useRunState(runs.b, 'flame');
  const two = useTwoAnswers(runs, (run) => answerTo('/flow/flame', { ...run, weight }));
  const { a, b } = two;
  const merged = useMemo(
    () => a && b && mergeFlames(a as FlameAnswer, b as FlameAnswer, width),
    [a, b, width],
  );
  return (
    <SessionContext.Provider value={state}>
      <div className={css.controls}>
        <SegmentedControl
          size="xs"
          aria-label={t('compare.pictures.width')}
          data-testid="compared-flame-width"
          value={width}
          onChange={(value) => setWidth(value)}
          data={(['b', 'a'] as const).map((value) => ({
            value,
            label: t(`compare.pictures.timeOf.${value}`),
          }))}
        />
        <SegmentedControl
          size="xs"
          aria-label={t('flame.weight')}
          data-testid="compared-flame-weight"
          value={weight}
          onChange={(value) => setWeight(value)}
          data={WEIGHTS.map((value) => ({
            value,
            label: t(value === 'executing' ? 'time.executing' : 'flame.weights.critical_path'),
          }))}
        />
        <TextInput
          size="xs"
          w={180}
          placeholder={t('flame.find')}
          aria-label={t('flame.find')}
          leftSection={<IconSearch size={14} />}
          value={find}
          onChange={(event) => setFind(event.currentTarget.value)}
          data-testid="compared-flame-find"
        />
        {merged && <Legend most={merged.most} width={width} />}
      </div>
      <TwoAnswers two={two}>{merged && <Graph merged={merged} width={width} find={find} />}</TwoAnswers>
    </SessionContext.Provider>
  );
}

function Graph({ merged, width, find }: { merged: MergedFlames; width: SideName; find: string }) {
  const { t } = useTranslation();
  const { answer, pairs, most } = merged;
  const picture = useRef<HTMLCanvasElement | null>(null);
  const [frame, setFrame] = useState('');
  const nodes = useMemo(() => toNodes(answer), [answer]);
  const root = nodes.get('');
  const chosen = nodes.get(frame) ?? root;
  // A path that the other side alone has is not drawn, so the whole graph is shown instead.
  const zoomed = chosen === undefined || chosen.frame.value > 0 ? chosen : root;
  const linesOf = useLines(merged, width);
  const runs = useMemo<ComparedRuns>(() => {
    const pairOf = ({ id }: { id: string }) => pairs.get(id) as FramePair;
    return {
      changeOf: (one) => (most > 0 ? (changeOf(pairOf(one), answer.total) ?? 0) / most : 0),
      isOneSided: (one) => isOneSided(pairOf(one)),
      linesOf,
    };
  }, [pairs, most, answer.total, linesOf]);
  const rows = answer.frames.reduce((most, { depth }) => Math.max(most, depth), 0) + 1;
  const parent = zoomed?.parent?.frame.id;
  useKeys(
    t('nav.flame'),
    parent === undefined ? [] : [{ keys: ['Escape'], label: t('keys.zoomOut'), run: () => setFrame(parent) }],
  );
  if (zoomed === undefined || answer.total <= 0)
    return <p className={words.dim}>{t('compare.pictures.noTime', { side: t(`compare.total.${width}`) })}</p>;
  const matches = matcher(find);
  const hits = matches && found(zoomed, matches);
  return (
    <div className={css.flame} style={{ height: Math.min(MAX_HEIGHT, MIN_HEIGHT + ROW * rows) }}>
      <div className={css.line}>
        <FlameCrumbs node={zoomed} onGo={setFrame} />
        <span className={`${words.num} ${words.dim}`} role="status" data-testid="compared-flame-status">
          {hits
            ? t('flame.found', {
                n: count(hits.frames),
                share: shareText(hits.value, zoomed.frame.value),
              })
            : `${t('compare.total.a')} ${valueText(pairs.get('')?.a?.value ?? 0, answer.weight)} → ` +
              `${t('compare.total.b')} ${valueText(pairs.get('')?.b?.value ?? 0, answer.weight)}`}
        </span>
        <SaveMenu view="flame" disabled={false} picture={picture} data={dataOf(merged)} />
      </div>
      <FlameCanvas
        answer={answer}
        zoomed={zoomed}
        order="size"
        find={find}
        frames={answer.frames_total}
        relative={false}
        runs={runs}
        picture={picture}
        onZoom={({ frame: { kind, id, parent } }) => setFrame((kind === 'other' ? parent : id) ?? '')}
        onHold={() => undefined}
      />
    </div>
  );
}

/** The lines of a tooltip: the time and the attempts of both sides, and the change. */
function useLines({ answer, pairs }: MergedFlames, width: SideName): ComparedRuns['linesOf'] {
  const { t } = useTranslation();
  return useMemo(
    () =>
      ({ id }) => {
        const pair = pairs.get(id) as FramePair;
        const missing = t(pair.isUnknown ? 'compare.pictures.merged' : 'compare.pictures.missing');
        const text = (value: number) => valueText(value, answer.weight);
        const change = changeOf(pair, answer.total);
        const total = (side: SideName) => pairs.get('')?.[side]?.value ?? 0;
        const textOf = (side: SideName) => {
          const value = pair[side]?.value;
          return value === undefined ? missing : `${text(value)} · ${shareText(value, total(side))}`;
        };
        const sign = change === null || change < 0 ? '−' : '+';
        const share = `${sign}${shareText(Math.abs(change ?? 0), 1)}`;
        const by = `${sign}${text(Math.abs((pair.b?.value ?? 0) - (pair.a?.value ?? 0)))}`;
        const attempts = [pair.a, pair.b].map((one) => (one === null ? '–' : count(one.attempts)));
        return [
          [t('compare.total.a'), textOf('a')],
          [t('compare.total.b'), textOf('b')],
          [
            t('compare.own'),
            change === null
              ? t('common.unknown')
              : t('compare.pictures.changeOf', { by, share, side: t(`compare.total.${width}`) }),
          ],
          [t('compare.attempts'), attempts.join(' → ')],
        ];
      },
    [answer, pairs, width, t],
  );
}
