import { useTranslation } from 'react-i18next';
import type { FlameAnswer, FlameFrame, FlameTree } from '../../api/schema';
import { FlameList } from './FlameList';
import { largest, type Node } from './flame';
import { usePeaksText, valueText } from './flameText';
import { type FlameParams, useSandwich } from './useFlame';

/** The callers and callees of a function, over all its frames. */
export function FlameCallers(props: {
  answer: FlameAnswer;
  name: string;
  nodes: Map<string, Node>;
  params: FlameParams;
  onZoom: (frame: string | undefined) => void;
}) {
  const { t } = useTranslation();
  const peaks = usePeaksText();
  const { answer, name, nodes, onZoom } = props;
  const found = useSandwich(props.params, answer.weight, name).data;
  if (found === undefined) return null;
  const text = (value: number) => valueText(value, found.weight);
  const note = found.weight === 'memory_time' ? peaks : undefined;
  const pick = (frame: FlameFrame) => {
    const to = frame.name === null ? undefined : largest(nodes.values(), frame.name)?.frame.id;
    if (frame.kind === 'driver' || to !== undefined) onZoom(to);
  };
  const can = (frame: FlameFrame) =>
    frame.kind === 'driver' || (frame.name !== null && largest(nodes.values(), frame.name) !== undefined);
  return (
    <>
      <FlameList
        title={t('flame.callers')}
        testId="flame-callers"
        items={firstRow(found.callers)}
        whole={found.value}
        text={text}
        note={note}
        onPick={pick}
        can={can}
      />
      <FlameList
        title={t('flame.callees')}
        testId="flame-callees"
        items={firstRow(found.callees)}
        whole={found.value}
        text={text}
        note={note}
        onPick={pick}
        can={can}
      />
    </>
  );
}

/** The frames directly below the root of a tree. */
function firstRow(tree: FlameTree): FlameFrame[] {
  return tree.frames.filter((frame) => frame.parent !== null && frame.parent === tree.frames[0]?.id);
}
