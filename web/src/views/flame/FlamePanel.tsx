import { useTranslation } from 'react-i18next';
import type { FlameAnswer } from '../../api/schema';
import { bytes, count } from '../../base/format';
import { toFlow, toView, withFilter } from '../../base/url';
import { Dash } from '../../ui/Dash';
import { Duration } from '../../ui/Duration';
import { FunctionLines } from '../../ui/HotLines';
import { Link } from '../../ui/Link';
import { Profile } from '../../ui/Profile';
import { Time } from '../../ui/Time';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import { FlameCallers } from './FlameCallers';
import css from './FlamePanel.module.css';
import { changeOf, type Node, scaleOf, shareText } from './flame';
import { useFrameName, valueText } from './flameText';
import type { FlameParams } from './useFlame';

/** The zoomed frame: its numbers, the callers and callees of its function, and links. */
export function FlamePanel(props: {
  answer: FlameAnswer;
  node: Node;
  nodes: Map<string, Node>;
  params: FlameParams;
  /** Whether shares of the total are compared instead of values. */
  relative: boolean;
  onZoom: (frame: string | undefined) => void;
}) {
  const { answer, node, relative } = props;
  const { frame } = node;
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  const nameOf = useFrameName();
  const name = frame.kind === 'call' ? frame.name : null;
  const called = frame.kind === 'library' ? frame.name : name;
  const text = (value: number) => valueText(value, answer.weight);
  const has = frame.attempts > 0;
  const measured = frame.memory_known + frame.memory_shared;
  const attempts = frame.parent === null ? answer.attempts : frame.attempts;
  return (
    <aside className={css.panel} aria-label={t('flame.details')} data-testid="flame-panel">
      <h2 className={words.breaks}>{nameOf(frame)}</h2>
      {frame.kind === 'driver' && <p className={words.dim}>{t('flame.driverText')}</p>}
      {frame.kind === 'unknown' && <p className={words.dim}>{t('flame.unknownText')}</p>}
      {frame.kind === 'library' && <p className={words.dim}>{t('flame.libraryText')}</p>}
      <dl className={css.numbers}>
        <Fact name={t('flame.value')} share={shareText(frame.value, answer.total)}>
          {text(frame.value)}
        </Fact>
        {has && (
          <Fact name={t('flame.own')} share={shareText(frame.own, answer.total)}>
            {text(frame.own)}
          </Fact>
        )}
        {frame.baseline_value !== null && (
          <Fact
            name={t(relative ? 'range.beforeRange' : 'flame.before')}
            share={changeOf(frame, scaleOf(answer, relative)).text}
          >
            {relative
              ? shareText(frame.baseline_value, answer.baseline_total ?? 0)
              : text(frame.baseline_value)}
          </Fact>
        )}
        {attempts > 0 && <Fact name={t('column.attempts')}>{count(attempts)}</Fact>}
        {frame.failed > 0 && (
          <Fact name={t('column.failed')} share={shareText(frame.failed, frame.attempts)}>
            <span data-bad className={words.num}>
              {count(frame.failed)}
            </span>
          </Fact>
        )}
        {frame.running > 0 && <Fact name={t('column.running')}>{count(frame.running)}</Fact>}
        {has && (
          <>
            <Fact name={t('time.executing')}>
              <Duration ns={frame.executing_ns} />
            </Fact>
            {frame.awaiting_ns > 0 && (
              <Fact name={t('time.awaiting')} share={shareText(frame.awaiting_ns, frame.duration_ns)}>
                <Duration ns={frame.awaiting_ns} />
              </Fact>
            )}
            <Fact
              name={t('time.blocked')}
              share={frame.blocked_ns > 0 ? shareText(frame.blocked_ns, frame.duration_ns) : ''}
            >
              {frame.blocked_ns > 0 ? <Duration ns={frame.blocked_ns} /> : <Dash />}
            </Fact>
            <Fact name={t('time.duration')}>
              <Duration ns={frame.duration_ns} />
            </Fact>
            <Fact
              name={t('flame.weights.cpu')}
              note={
                frame.cpu_known > 0 && frame.cpu_known < frame.attempts
                  ? t('flame.cpuKnown', { n: count(frame.cpu_known), all: count(frame.attempts) })
                  : frame.cpu_known > 0 && frame.executing_ns > 0
                    ? t('flame.cpuShare', { share: shareText(frame.cpu_ns, frame.executing_ns) })
                    : ''
              }
            >
              {frame.cpu_known > 0 ? <Duration ns={frame.cpu_ns} /> : <Dash />}
            </Fact>
            {frame.kind !== 'library' && (
              <Fact name="p50 · p95">
                <Duration ns={frame.p50_ns} /> · <Duration ns={frame.p95_ns} />
              </Fact>
            )}
            <Fact name={t('column.max')}>
              <Duration ns={frame.max_ns} />
            </Fact>
            <Fact
              name={t('column.peakMemory')}
              note={
                measured > 0 && measured < frame.attempts
                  ? t('flame.cpuKnown', { n: count(measured), all: count(frame.attempts) })
                  : ''
              }
            >
              {frame.max_memory === null ? <Dash /> : bytes(frame.max_memory)}
            </Fact>
            {frame.p95_memory !== null && (
              <Fact name={t('functions.memory.p95')}>{bytes(frame.p95_memory)}</Fact>
            )}
            <Fact name={t('flame.weights.bytes')}>{frame.bytes > 0 ? bytes(frame.bytes) : <Dash />}</Fact>
          </>
        )}
        {frame.first_ns !== null && (
          <Fact name={t('flame.first')}>
            <Time ns={frame.first_ns} exact />
          </Fact>
        )}
      </dl>
      {name !== null && (
        <p className={css.links}>
          <Link
            to={{ ...toView(url, 'tasks', { ...url.filters, func_name: name }), sort: '-duration_ns' }}
            testId="flame-attempts"
          >
            {t('summary.slowestLink')}
          </Link>
          <Link to={toFlow(withFilter(url, 'func_name', name), 'gantt')} testId="flame-gantt">
            {t('flame.inGantt')}
          </Link>
        </p>
      )}
      <div className={css.lines}>
        {name !== null && <FunctionLines filters={{ ...url.filters, func_name: name }} />}
        {name !== null && <Profile of={{ func_name: name }} canRun />}
      </div>
      {called !== null && frame.baseline_value === null && (
        <FlameCallers
          answer={answer}
          name={called}
          nodes={props.nodes}
          params={props.params}
          onZoom={props.onZoom}
        />
      )}
    </aside>
  );
}

/** A number. `share`: it as a percentage; `note`: a line below. */
function Fact(props: { name: string; share?: string; note?: string; children: React.ReactNode }) {
  return (
    <div>
      <dt>{props.name}</dt>
      <dd className={words.num}>{props.children}</dd>
      <dd className={`${words.num} ${words.dim}`}>{props.share}</dd>
      {props.note && <dd className={`${css.note} ${words.num} ${words.dim}`}>{props.note}</dd>}
    </div>
  );
}
