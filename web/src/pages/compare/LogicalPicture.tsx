import '@xyflow/react/dist/base.css';
import { Checkbox, Loader } from '@mantine/core';
import type { TFunction } from 'i18next';
import { type ReactNode, useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { answerTo } from '../../api/queries';
import { bytes, count, duration } from '../../base/format';
import words from '../../ui/theme/words.module.css';
import { SessionContext } from '../../ui/useUrl';
import { ComparedCanvas } from '../../views/logical/LogicalCanvas';
import type { Change } from '../../views/logical/LogicalNodes';
import view from '../../views/logical/LogicalView.module.css';
import { type LogicalAnswer, withoutMinor } from '../../views/logical/logicalModel';
import { useLogicalLayout } from '../../views/logical/useLogicalLayout';
import { type Figures, type ItemChange, type MergedLogical, MIN_CHANGE, mergeLogical } from './mergeLogical';
import css from './Pictures.module.css';
import type { PictureProps } from './sides';
import { TwoAnswers, useTwoAnswers } from './TwoAnswers';
import { useRunState } from './useRunState';

const BOTH_KINDS = { calls: true, data: true };

/** One logical graph of both runs, with what came, went, grew or shrank. */
export default function LogicalPicture({ runs }: PictureProps) {
  const state = useRunState(runs.b, 'logical');
  const two = useTwoAnswers(runs, (run) => answerTo('/flow/logical', run));
  const { a, b } = two;
  const merged = useMemo(() => a && b && mergeLogical(a as LogicalAnswer, b as LogicalAnswer), [a, b]);
  return (
    <SessionContext.Provider value={state}>
      <TwoAnswers two={two}>{merged && <Graph merged={merged} />}</TwoAnswers>
    </SessionContext.Provider>
  );
}

function Graph({ merged: { graph: whole, changes } }: { merged: MergedLogical }) {
  const { t } = useTranslation();
  const [withMinor, setWithMinor] = useState(false);
  const minor = useMemo(() => withoutMinor(whole), [whole]);
  const graph = withMinor ? whole : minor.graph;
  const [selected, select] = useState<string>();
  const { layout, arrangedGraph, arrange, arranged, failed } = useLogicalLayout(
    graph,
    String(withMinor),
    graph.session,
  );
  const texts = useMemo(() => textsOf(graph, changes, t), [graph, changes, t]);
  if (graph.nodes.length === 0) return <p className={words.dim}>{t('logical.empty')}</p>;
  if (failed !== null) return <p className={words.dim}>{t('logical.layoutFailed')}</p>;
  if (arrangedGraph === undefined || layout === undefined) return <Loader size="sm" m="md" />;
  return (
    <>
      <LogicalLegend>
        {minor.hidden > 0 && (
          <Checkbox
            size="xs"
            label={t('logical.minor', { n: minor.hidden })}
            title={t('logical.minorHint')}
            checked={withMinor}
            onChange={(event) => setWithMinor(event.currentTarget.checked)}
          />
        )}
      </LogicalLegend>
      <div className={`${view.logical} ${css.logical}`}>
        <ComparedCanvas
          graph={arrangedGraph}
          layout={layout}
          question={arranged}
          weight="state"
          shown={BOTH_KINDS}
          find=""
          selected={selected}
          changes={texts}
          onSelect={select}
          onUnfold={() => undefined}
          onArrange={arrange}
        />
      </div>
    </>
  );
}

const KINDS = ['came', 'grew', 'shrank', 'went'] as const;

function LogicalLegend({ children }: { children: ReactNode }) {
  const { t } = useTranslation();
  return (
    <div className={css.legend}>
      {KINDS.map((kind) => (
        <span key={kind} className={css.key} data-change={kind}>
          {t(`compare.pictures.change.${kind}`)}
        </span>
      ))}
      <span>{t('compare.pictures.logicalHint', { share: 100 * MIN_CHANGE })}</span>
      {children}
    </div>
  );
}

/** The texts of nodes and edges: their numbers in A and B, and the change. */
function textsOf(
  { nodes, calls }: LogicalAnswer,
  changes: MergedLogical['changes'],
  t: TFunction,
): ReadonlyMap<string, Change> {
  const isNode = new Set(nodes.map(({ id }) => id));
  const isCall = new Set(calls.map(({ id }) => id));
  return new Map(
    [...changes].map(([id, change]) => {
      const both = (text: (figures: Figures) => string) =>
        [...new Set([change.a, change.b].map((one) => (one === null ? '–' : text(one))))].join(' → ');
      const times = both((one) => `${count(one.count)}×`).replace(/× → (?=\d)/, ' → ');
      const isTime = isNode.has(id) || isCall.has(id);
      const size = both((one) => (isTime ? duration(one.size) : bytes(one.size)));
      return [
        id,
        {
          kind: change.kind === 'unknown' ? 'same' : change.kind,
          tag: tagOf(change, isCall.has(id) ? 'count' : 'size', t),
          attempts: isTime ? times : size,
          time: size,
        },
      ];
    }),
  );
}

function tagOf({ kind, a, b }: ItemChange, by: keyof Figures, t: TFunction): string {
  if (kind === 'came' || kind === 'went') return t(`compare.pictures.change.${kind}`);
  if (kind === 'unknown') return t('common.unknown');
  const before = a?.[by] ?? 0;
  if (before === 0) return '';
  const percents = Math.round((100 * ((b?.[by] ?? 0) - before)) / before);
  return percents === 0 ? '' : `${percents < 0 ? '−' : '+'}${count(Math.abs(percents))}%`;
}
