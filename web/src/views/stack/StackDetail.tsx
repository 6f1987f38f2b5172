import { IconChevronRight } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import type { PausedTask, StackAnswer, StackLink, StackNode } from '../../api/schema';
import { count, duration, nanosBetween, shortId } from '../../base/format';
import { type SessionUrl, toFlow, toView, withSettings } from '../../base/url';
import { Dash } from '../../ui/Dash';
import { Dot } from '../../ui/Dot';
import { Field, Fields, Section } from '../../ui/Drawer';
import { Link } from '../../ui/Link';
import { useNodeTitle } from '../../ui/NodeLabel';
import { PausedMark } from '../../ui/PausedMark';
import { Time } from '../../ui/Time';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import panels from '../shared/panels.module.css';
import css from './StackDetail.module.css';
import { SituationBadge, situationColor, useNodeName } from './StackTree';
import shared from './stack.module.css';

/** The selected node: its numbers, some of its attempts, and links. */
export function NodeDetail(props: {
  node: StackNode;
  nodes: readonly StackNode[];
  paused: readonly PausedTask[];
  at: number;
  onSelect: (id: string) => void;
  /** Samples the Python frames of the node and everything below it; undefined if that is not possible. */
  onFrames?: () => void;
}) {
  const { node, at } = props;
  const [url] = useSessionUrl();
  const { t, i18n } = useTranslation();
  const nameOf = useNodeName();
  const nodeTitle = useNodeTitle();
  const parent = props.nodes.find((each) => each.id === node.parent);
  const range = (ns: number | null) =>
    ns === null ? (
      <Dash />
    ) : (
      <>
        <Time ns={ns} exact />{' '}
        <span className={`${words.dim} ${words.num}`}>({duration(Math.max(0, at - ns))})</span>
      </>
    );
  return (
    <Section title={<span className={words.breaks}>{nameOf(node)}</span>} testId="stack-detail">
      <Fields>
        {node.situation !== 'unknown' && (
          <Field name={t('stack.situationName')}>
            <SituationBadge situation={node.situation} /> <PausedMark tasks={props.paused} />
          </Field>
        )}
        {node.type !== null && i18n.exists(`type.${node.type}`) && (
          <Field name={t('column.type')}>{t(`type.${node.type}` as 'type.NORMAL_TASK')}</Field>
        )}
        <Field name={t('stack.here')}>
          <span className={words.num}>{count(node.count)}</span>
        </Field>
        {node.total !== node.count && (
          <Field name={t('stack.withBelow')}>
            <span className={words.num}>{count(node.total)}</span>
          </Field>
        )}
        {node.count > 1 && node.newest_ns !== node.oldest_ns ? (
          <>
            <Field name={t('stack.oldest')}>{range(node.oldest_ns)}</Field>
            <Field name={t('stack.newest')}>{range(node.newest_ns)}</Field>
          </>
        ) : (
          node.oldest_ns !== null && <Field name={t('stack.since')}>{range(node.oldest_ns)}</Field>
        )}
        {node.deepest > 0 && (
          <Field name={t('stack.awaited')} hint={t('stack.deepestHint')}>
            <span className={words.num}>{t('stack.awaitedHere', { n: count(node.deepest) })}</span>
          </Field>
        )}
      </Fields>
      {node.blocked_on.length > 0 && (
        <>
          <h4 className={shared.head}>{t('stack.waitsForHead')}</h4>
          <ul>
            {node.blocked_on.map((on) => (
              <li key={on.node} className={shared.example}>
                <button type="button" className={panels.jump} onClick={() => props.onSelect(on.node)}>
                  {nameOf(on)}
                </button>
                <SituationBadge situation={on.situation} />
                {on.count > 1 && <span className={`${words.num} ${words.dim}`}>×{count(on.count)}</span>}
                {on.examples[0] !== undefined && (
                  <Link
                    to={{ ...url, task: on.examples[0], attempt: undefined }}
                    title={on.examples[0]}
                    className={`${words.link} ${words.mono}`}
                  >
                    {shortId(on.examples[0])}
                  </Link>
                )}
              </li>
            ))}
          </ul>
        </>
      )}
      {node.examples.length > 0 && (
        <>
          <h4 className={shared.head}>
            {node.count > node.examples.length
              ? t('stack.examplesOf', { shown: node.examples.length, total: count(node.count) })
              : t('stack.examples')}
          </h4>
          <ul>
            {node.examples.map((example) => (
              <li key={`${example.task_id}:${example.attempt}`} className={shared.example}>
                <Link
                  to={{ ...url, task: example.task_id, attempt: example.attempt }}
                  title={example.task_id}
                  className={`${words.link} ${words.mono}`}
                  testId="stack-example"
                >
                  {shortId(example.task_id)}
                </Link>
                <PausedMark tasks={props.paused.filter((task) => task.task_id === example.task_id)} />
                <span className={words.num}>
                  {duration(Math.max(0, nanosBetween(example.since_ns, at) ?? 0))}
                </span>
                <span className={`${words.dim} ${words.ellipsis}`} title={example.node_id ?? undefined}>
                  {example.worker_pid !== null && t('stack.pid', { pid: example.worker_pid })}
                  {example.node_id !== null && ` · ${nodeTitle(example.node_id)}`}
                </span>
              </li>
            ))}
          </ul>
        </>
      )}
      <div className={panels.links}>
        {props.onFrames !== undefined && (
          <button type="button" className={words.link} onClick={props.onFrames} data-testid="frames-of-node">
            {t('frames.ofNode')}
          </button>
        )}
        {node.count > 0 && node.name !== '' && (
          <Link to={tasksOf(url, node, parent, at)} testId="stack-to-tasks">
            {t('stack.toTasks')}
          </Link>
        )}
        <Link to={ganttAt(url, node, at)} testId="stack-to-gantt">
          {t('stack.toGantt')}
        </Link>
      </div>
    </Section>
  );
}

/**
 * A link to the attempts of the node's function that were in flight at the time. If the caller is a single
 * attempt, only its calls are listed.
 */
function tasksOf(url: SessionUrl, node: StackNode, parent: StackNode | undefined, at: number): SessionUrl {
  const caller = parent?.count === 1 && parent.others === 0 ? parent.examples[0]?.task_id : undefined;
  return toView(url, 'tasks', {
    ...url.filters,
    func_name: node.name,
    since_ns: String(at),
    until_ns: String(at),
    ...(caller !== undefined && { caller_task_id: caller }),
  });
}

/** A link to the Gantt chart from the node's oldest attempt until shortly after this time. */
function ganttAt(url: SessionUrl, node: StackNode, at: number): SessionUrl {
  const age = Math.max(at - (node.oldest_ns ?? at), 20e6);
  return withSettings(toFlow(url, 'gantt'), {
    from: String(Math.round(at - age * 1.2)),
    to: String(Math.round(at + age * 0.4)),
  });
}

/** Wait chains, from the first waiting node to what it is waiting for in the end. */
export function Chains({ stack, onSelect }: { stack: StackAnswer; onSelect: (id: string) => void }) {
  const { t } = useTranslation();
  const nameOf = useNodeName();
  if (stack.chains.length === 0)
    return (
      <Section title={t('stack.chains')} testId="stack-chains">
        <p className={words.dim}>{t('stack.noChains')}</p>
      </Section>
    );
  return (
    <Section title={t('stack.chains')} testId="stack-chains">
      <ol>
        {stack.chains.map((chain) => (
          <li key={chain.map((link) => link.node).join()} className={css.chain}>
            {shortened(chain).map((link, at) => (
              <span key={link?.node ?? 'more'} className={css.link}>
                {at > 0 && <IconChevronRight size={12} className={words.dim} aria-hidden />}
                {link === null ? (
                  <span className={words.dim}>{t('stack.between', { n: chain.length - 7 })}</span>
                ) : (
                  <button
                    type="button"
                    className={panels.jump}
                    title={t(`stack.situation.${link.situation}`)}
                    onClick={() => onSelect(link.node)}
                  >
                    <Dot color={situationColor(link.situation)} />
                    {nameOf(link)}
                    {link.count > 1 && <span className={words.num}> ×{count(link.count)}</span>}
                  </button>
                )}
              </span>
            ))}
          </li>
        ))}
      </ol>
    </Section>
  );
}

/** The two ends of a very long chain; null stands for the omitted middle. */
function shortened(chain: StackLink[]): (StackLink | null)[] {
  return chain.length <= 8 ? chain : [...chain.slice(0, 3), null, ...chain.slice(-4)];
}
