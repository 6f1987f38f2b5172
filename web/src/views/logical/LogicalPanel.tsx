import { ActionIcon, Tooltip } from '@mantine/core';
import { IconX } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { bytes, count } from '../../base/format';
import { toFlow, toView, withFilter } from '../../base/url';
import { CopyId } from '../../ui/CopyId';
import { Field, Fields, PanelHead, Section } from '../../ui/Drawer';
import { Duration } from '../../ui/Duration';
import { OriginTag } from '../../ui/insights/OriginTag';
import { Link } from '../../ui/Link';
import { MiniList } from '../../ui/MiniList';
import { PausedMark } from '../../ui/PausedMark';
import { StackedBar } from '../../ui/StackedBar';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import css from './LogicalPanel.module.css';
import { around, attemptsOf, type LogicalAnswer, type LogicalNode, type Neighbour } from './logicalModel';
import { nodeName } from './logicalNames';
import { usePausedNodes } from './usePausedNodes';

/** Maximum number of neighbours that are listed per kind. */
const MAX_LISTED = 10;

/** The numbers of a node, its neighbours, and links. */
export function LogicalPanel(props: {
  graph: LogicalAnswer;
  node: LogicalNode;
  onSelect: (id: string | undefined) => void;
}) {
  const { graph, node } = props;
  const [url] = useSessionUrl();
  const { t } = useTranslation();
  const near = around(graph, node.id);
  const slowest = attemptsOf(url, node);
  const paused = usePausedNodes(graph).get(node.id) ?? [];
  const isCalled =
    (node.kind === 'function' || node.kind === 'method' || node.kind === 'call') && node.name !== null;
  const narrowed = isCalled ? withFilter(url, 'func_name', node.name ?? undefined) : url;
  const quantiles = (p50: number | null, p95: number | null) => (
    <>
      <Duration ns={p50} /> / <Duration ns={p95} />
    </>
  );
  return (
    <aside
      className={css.panel}
      aria-label={t('common.details')}
      data-testid="logical-panel"
      onKeyDown={(event) => {
        // The panel of a task is in front of this one, so Escape closes it first.
        if (event.key !== 'Escape' || url.task !== undefined) return;
        event.preventDefault();
        props.onSelect(undefined);
      }}
    >
      <PanelHead
        title={<span className={words.breaks}>{nodeName(t, node, true)}</span>}
        subtitle={
          <>
            {t(`logical.kind.${node.kind}`)}
            <PausedMark tasks={paused}>{t('debugger.count', { n: count(paused.length) })}</PausedMark>
          </>
        }
      >
        <Tooltip label={`${t('common.close')} (Esc)`}>
          <ActionIcon
            size={28}
            aria-label={t('common.close')}
            data-testid="logical-panel-close"
            onClick={() => props.onSelect(undefined)}
          >
            <IconX size={18} />
          </ActionIcon>
        </Tooltip>
      </PanelHead>
      <div className={css.panelBody}>
        {node.kind !== 'library' && <OriginTag origin={node.library} />}
        {node.attempts > 0 ? (
          <>
            <StackedBar states={node.states} height={8} />
            <Fields>
              <Field name={t('logical.attempts')} hint="attempts">
                <span className={words.num}>{count(node.attempts)}</span>
                {node.failed > 0 && (
                  <span className={words.num} data-bad>
                    {' '}
                    · {t('logical.failed')} {count(node.failed)}
                  </span>
                )}
              </Field>
              {node.kind === 'class' && (
                <Field name={t('logical.actors')} hint="actors">
                  {count(node.actors)}
                </Field>
              )}
              {node.actor_id !== null && (
                <Field name="Actor" hint="actor_id">
                  <CopyId id={node.actor_id} />
                </Field>
              )}
              {node.task_id !== null && (
                <Field name="Task" hint="task_id">
                  <CopyId id={node.task_id} />
                </Field>
              )}
              <Field name={t('time.duration')} hint="duration_ns">
                <Duration ns={node.duration_ns} />
              </Field>
              <Field name={t('time.executing')} hint="executing_ns">
                <Duration ns={node.executing_ns} />
              </Field>
              {node.awaiting_ns > 0 && (
                <Field name={t('time.awaiting')} hint="awaiting_ns">
                  <Duration ns={node.awaiting_ns} />
                </Field>
              )}
              <Field name={t('time.blocked')} hint="blocked_ns">
                <Duration ns={node.blocked_ns} />
              </Field>
              <Field name={t('logical.output')} hint="output_bytes">
                {bytes(node.output_bytes)}
              </Field>
              {isCalled && !node.is_expanded && (node.kind !== 'call' || node.attempts > 1) && (
                <>
                  <Field name={t('logical.quantiles', { time: t('time.duration') })} hint="p50_ns, p95_ns">
                    {quantiles(node.p50_ns, node.p95_ns)}
                  </Field>
                  <Field
                    name={t('logical.quantiles', { time: t('time.total') })}
                    hint="total_p50_ns, total_p95_ns"
                  >
                    {quantiles(node.total_p50_ns, node.total_p95_ns)}
                  </Field>
                </>
              )}
            </Fields>
          </>
        ) : (
          (isCalled || node.kind === 'class') && <p className={words.dim}>{t('logical.context')}</p>
        )}
        <div className={css.links}>
          {node.task_id !== null && (
            <Link to={{ ...url, task: node.task_id, attempt: undefined }} testId="logical-task">
              {t('logical.toTask')}
            </Link>
          )}
          {slowest !== null && (
            <Link to={slowest} testId="logical-slowest">
              {t(node.kind === 'driver' ? 'logical.submitted' : 'logical.slowest')}
            </Link>
          )}
          {isCalled && <Link to={toFlow(narrowed, 'gantt')}>{t('logical.inGantt')}</Link>}
          {isCalled && <Link to={toFlow(narrowed, 'flame')}>{t('logical.inFlame')}</Link>}
          {node.kind === 'class' && node.class_name !== null && (
            <Link to={toView(url, 'actors', { q: node.class_name })}>{t('logical.inActors')}</Link>
          )}
        </div>
        <Neighbours {...props} title={t('logical.callers')} of={near.callers} testId="logical-callers" />
        <Neighbours {...props} title={t('logical.callees')} of={near.callees} testId="logical-callees" />
        <Neighbours {...props} title={t('logical.dataIn')} of={near.dataIn} testId="logical-data-in" isData />
        <Neighbours
          {...props}
          title={t('logical.dataOut')}
          of={near.dataOut}
          testId="logical-data-out"
          isData
        />
      </div>
    </aside>
  );
}

function Neighbours(props: {
  graph: LogicalAnswer;
  title: string;
  of: Neighbour[];
  testId: string;
  isData?: boolean;
  onSelect: (id: string) => void;
}) {
  const { t } = useTranslation();
  if (props.of.length === 0) return null;
  const byId = new Map(props.graph.nodes.map((node) => [node.id, node]));
  const rest = props.of.length - MAX_LISTED;
  return (
    <Section title={props.title} testId={props.testId}>
      <MiniList>
        {props.of.slice(0, MAX_LISTED).map(({ id, count: many, bytes: size }) => {
          const node = byId.get(id);
          const name = node === undefined ? id : nodeName(t, node, true);
          return (
            <button
              key={id}
              type="button"
              className={css.near}
              title={name}
              onClick={() => props.onSelect(id)}
            >
              <span className={words.ellipsis}>{name}</span>
              <span className={words.num}>
                {props.isData && `${bytes(size)} · `}
                {count(many)}×
              </span>
            </button>
          );
        })}
      </MiniList>
      {rest > 0 && <p className={words.dim}>{t('logical.more', { n: count(rest) })}</p>}
    </Section>
  );
}
