import { useTranslation } from 'react-i18next';
import type { FlameAnswer, FlameFrame } from '../../api/schema';
import { codePlace, count, duration } from '../../base/format';
import tips from '../../ui/theme/tip.module.css';
import words from '../../ui/theme/words.module.css';
import css from './FlameTooltip.module.css';
import { type Samples, shareText } from './flame';
import { useFrameName, usePeaksText, valueText } from './flameText';

export interface PointedFrame {
  id: string;
  /** Position of the text in the canvas box, px. */
  x: number;
  y: number;
}

const TIP_WIDTH = 310;
const TIP_HEIGHT = 210;

/** The numbers of the hovered frame, next to the pointer. */
export function FlameTooltip(props: {
  frame: FlameFrame;
  answer: FlameAnswer;
  relative: boolean;
  /** The samples of a line of code. */
  samples?: Samples;
  /** Lines to show instead of the frame's numbers. */
  lines?: [name: string, value: string][];
  pointed: PointedFrame;
  width: number;
  height: number;
}) {
  const { t } = useTranslation();
  const nameOf = useFrameName();
  const peaks = usePeaksText();
  const { frame, answer, pointed, samples } = props;
  const line = samples?.line;
  const text = (value: number) => valueText(value, answer.weight);
  const lines: [string, string][] = [
    [t('flame.value'), `${text(frame.value)} · ${shareText(frame.value, answer.total)}`],
  ];
  if (frame.attempts > 0)
    lines.push([t('flame.own'), `${text(frame.own)} · ${shareText(frame.own, answer.total)}`]);
  if (frame.baseline_value !== null)
    lines.push(
      props.relative
        ? [t('range.beforeRange'), shareText(frame.baseline_value, answer.baseline_total ?? 0)]
        : [t('flame.before'), text(frame.baseline_value)],
    );
  const attempts = frame.parent === null ? answer.attempts : frame.attempts;
  if (attempts > 0) lines.push([t('column.attempts'), count(attempts)]);
  if (frame.blocked_ns > 0) lines.push([t('time.blocked'), duration(frame.blocked_ns)]);
  if (frame.p50_ns !== null)
    lines.push([t('flame.quantiles'), [frame.p50_ns, frame.p95_ns, frame.max_ns].map(duration).join(' · ')]);
  const sampleLines = ({ of, line }: Samples): [string, string][] => {
    if (line === null) return [[t('flame.samples'), count(of)]];
    const points = line.points === null ? '' : ` ± ${Math.ceil(line.points)}`;
    return [
      [t('flame.samples'), `${count(line.value)} · ${shareText(line.value, of)}${points}`],
      [t('flame.own'), `${count(line.own)} · ${shareText(line.own, of)}`],
      [t('flame.native'), `${count(line.native)} · ${shareText(line.native, of)}`],
    ];
  };
  const isMemory = answer.weight === 'memory_time';
  if (isMemory && frame.attempts > 0)
    lines.push([t('column.peakMemory'), peaks(frame) || t('flame.notMeasured')]);
  const isTime = !isMemory && answer.weight !== 'count' && answer.weight !== 'bytes';
  const left = Math.max(4, Math.min(pointed.x + 14, props.width - TIP_WIDTH - 4));
  const below = pointed.y + 14 + TIP_HEIGHT <= props.height || pointed.y < TIP_HEIGHT;
  return (
    <div
      className={tips.tip}
      role="status"
      data-testid="flame-tip"
      style={{
        left,
        width: TIP_WIDTH,
        maxWidth: 'none',
        ...(below ? { top: pointed.y + 14 } : { top: pointed.y - 8, translate: '0 -100%' }),
      }}
    >
      <b className={words.breaks}>{nameOf(frame)}</b>
      {line != null && line.file !== '' && (
        <p className={`${words.dim} ${words.breaks}`}>{codePlace(line)}</p>
      )}
      <dl className={css.tipLines}>
        {(props.lines ?? (samples === undefined ? lines : sampleLines(samples))).map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd className={words.num}>{value}</dd>
          </div>
        ))}
      </dl>
      {isTime && samples === undefined && (props.lines !== undefined || attempts > 1) && (
        <p className={words.dim}>{t('flame.sumHint')}</p>
      )}
      {isMemory && samples === undefined && <p className={words.dim}>{t('flame.weightHint.memory_time')}</p>}
    </div>
  );
}
