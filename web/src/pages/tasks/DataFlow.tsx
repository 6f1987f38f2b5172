import { useTranslation } from 'react-i18next';
import type { EdgeItem, TaskDetail } from '../../api/schema';
import { bytes, count, shortId } from '../../base/format';
import { Section } from '../../ui/Drawer';
import { Link } from '../../ui/Link';
import { MiniList } from '../../ui/MiniList';
import { isDriver } from '../../ui/taskColumns';
import layout from '../../ui/theme/layout.module.css';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import shared from './tasks.module.css';

/** The objects that a task received, got, returned and put. */
export function DataFlow({ task }: { task: TaskDetail }) {
  const { t } = useTranslation();
  return (
    <>
      <Objects
        title={t('flow.dataIn')}
        testId="task-data-in"
        edges={task.data_in}
        total={task.data_in_total}
        all={task.data_in_bytes}
        side="producer"
      />
      <Objects
        title={t('flow.dataOut')}
        testId="task-data-out"
        edges={task.data_out}
        total={task.data_out_total}
        all={task.data_out_bytes}
        side="consumer"
      />
    </>
  );
}

function Objects(props: {
  title: string;
  testId: string;
  edges: EdgeItem[];
  total: number;
  all: number;
  side: 'producer' | 'consumer';
}) {
  const [url] = useSessionUrl();
  const { t, i18n } = useTranslation();
  if (props.total === 0) return null;
  const kind = (edge: EdgeItem) => {
    const name = i18n.exists(`flow.kind.${edge.kind}`)
      ? t(`flow.kind.${edge.kind}` as 'flow.kind.get')
      : edge.kind;
    if (edge.nested) return `${name} ${t('flow.nested')}`;
    return edge.by_value ? `${name} ${t('flow.byValue')}` : name;
  };
  return (
    <Section
      title={props.title}
      testId={props.testId}
      right={
        <span className={`${words.dim} ${words.num}`}>
          {props.edges.every((edge) => edge.bytes === null) ? '–' : bytes(props.all)}
          {props.edges.length < props.total &&
            ` · ${t('flow.largest', { shown: count(props.edges.length), total: count(props.total) })}`}
        </span>
      }
    >
      <MiniList>
        {props.edges.map((edge) => {
          const id = props.side === 'producer' ? edge.producer_task_id : edge.consumer_task_id;
          const name = props.side === 'producer' ? edge.producer_name : edge.consumer_name;
          const row = (
            <>
              <span className={words.ellipsis}>{kind(edge)}</span>
              <span className={words.ellipsis} title={edge.object_id}>
                {id === null ? t('common.unknown') : isDriver(id) ? t('task.driver') : (name ?? shortId(id))}
                {edge.is_remote && <span className={words.dim}> {t('flow.remote')}</span>}
              </span>
              <span className={words.num}>{edge.bytes === null ? '–' : bytes(edge.bytes)}</span>
            </>
          );
          const key = `${edge.object_id}:${edge.kind}:${id}`;
          return id === null ? (
            <span key={key} className={`${layout.row} ${shared.miniRow}`}>
              {row}
            </span>
          ) : (
            <Link
              key={key}
              to={{ ...url, task: id, attempt: undefined }}
              className={`${layout.row} ${shared.miniRow}`}
            >
              {row}
            </Link>
          );
        })}
      </MiniList>
    </Section>
  );
}
