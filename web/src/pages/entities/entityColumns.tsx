import { useTranslation } from 'react-i18next';
import type { Item } from '../../api/types';
import { bytes, programName } from '../../base/format';
import { CopyId } from '../../ui/CopyId';
import { Dash } from '../../ui/Dash';
import { useCauseText } from '../../ui/DeathCause';
import { JobName } from '../../ui/JobName';
import { NodeLabel, useNodeTitle } from '../../ui/NodeLabel';
import { Time } from '../../ui/Time';
import { type Column, TIME_WIDTH } from '../../ui/table/columns';
import words from '../../ui/theme/words.module.css';
import { isEmpty, oneLine, Value } from '../../ui/Value';
import { EntityState } from './EntityState';
import { useDeathOf } from './useDeaths';

/** The fields whose columns take the remaining width: the first of them that a kind of entity has. */
export const GROWS = ['message', 'class_name', 'entrypoint', 'exit_detail', 'bundles'];
/** Fields with structured values. Tables cannot be sorted by them. */
const UNORDERED = new Set([
  'bundles',
  'required_resources',
  'label_selector',
  'runtime_env',
  'metadata',
  'stats',
  'death_cause',
  'gpus',
]);

const NUMBER = /^(pid|.*_pid|.*_port|num_.*|max_.*|exit_code|.*_bytes|.*_percent|.*_count)$/;
/** Column widths that differ from the default, by field, px. */
const WIDTHS: Record<string, number> = {
  state: 164,
  class_name: 170,
  name: 124,
  pid: 76,
  node_id: 132,
  driver_node_id: 132,
  cpu_percent: 76,
  ip: 124,
  type: 112,
  gpus: 112,
  worker_type: 104,
  job_id: 140,
  strategy: 132,
  is_detached: 92,
  num_restarts: 92,
  submission_id: 204,
  placement_group_id: 148,
  entrypoint: 170,
  message: 200,
  exit_detail: 340,
  bundles: 240,
};

/** Workers are alive or dead, px. */
const WORKER_STATE = 96;

/** The column of a field in a view. `isOwn` is set if the field is the id of the row itself. */
export function entityColumn(
  view: string,
  field: string,
  header: string,
  grow: boolean,
  optional: boolean,
  isOwn: boolean,
): Column<Record<string, unknown>> {
  const number = NUMBER.test(field);
  const width =
    (view === 'workers' && field === 'state' ? WORKER_STATE : WIDTHS[field]) ??
    (field.endsWith('_ns') ? TIME_WIDTH : field.endsWith('_id') ? 104 : number ? 108 : 160);
  return {
    id: field,
    header,
    width: grow ? Math.max(width, 170) : width,
    grow,
    align: number ? 'right' : undefined,
    sort: UNORDERED.has(field) ? undefined : field,
    optional,
    value: (item) => item[field],
    cell: (item) =>
      field === 'job_id' && item.job_id && !isOwn ? (
        <JobName id={String(item.job_id)} />
      ) : field === 'node_id' || field === 'driver_node_id' ? (
        <NodeLabel id={item[field] ? String(item[field]) : null} />
      ) : field === 'state' && item.state ? (
        <EntityState item={item as Item} view={view} />
      ) : (field === 'exit_detail' || field === 'death_reason') && item[field] ? (
        <Cause item={item as Item} view={view} text={oneLine(item[field])} />
      ) : field === 'bundles' ? (
        <Bundles value={item.bundles} />
      ) : (
        <Cell name={field} value={item[field]} />
      ),
  };
}

function Cell({ name, value }: { name: string; value: unknown }) {
  if (isEmpty(value)) return <Dash />;
  if (name === 'gpus') return <Value name={name} value={value} />;
  if (name === 'worker_type') return <WorkerType type={String(value)} />;
  if (name.endsWith('_ns') && typeof value === 'number') return <Time ns={value} />;
  if (isId(name, value)) return <CopyId id={value} />;
  if (typeof value === 'number') {
    const text = name.endsWith('_bytes') ? bytes(value) : name.endsWith('_percent') ? `${value}%` : value;
    return <span className={words.num}>{text}</span>;
  }
  if (typeof value === 'boolean') return <YesNo value={value} />;
  const text = oneLine(value);
  return (
    <span className={words.ellipsis} title={text}>
      {name === 'entrypoint' ? programName(text) : text}
    </span>
  );
}

/** Why a worker or actor ended, with Ray's own text on hover, or that text. */
function Cause({ item, view, text }: { item: Item; view: string; text: string }) {
  const causeText = useCauseText();
  const death = useDeathOf(view, item);
  return (
    <span className={words.ellipsis} title={text}>
      {causeText(death?.chain.slice(-1) ?? []) || text}
    </span>
  );
}

/** The bundles of a placement group with the names of their nodes. */
function Bundles({ value }: { value: unknown }) {
  const text = oneLine(value, useNodeTitle());
  return (
    <span className={words.ellipsis} title={text}>
      {text}
    </span>
  );
}

/**
 * Whether a value is shortened like an id. A job id that the user chose is not: it is shown in full if there
 * is room.
 */
const isId = (name: string, value: unknown): value is string =>
  name.endsWith('_id') && typeof value === 'string' && /^[0-9a-f-]{8,}$/i.test(value);

function WorkerType({ type }: { type: string }) {
  const { t, i18n } = useTranslation();
  const name = i18n.exists(`nodes.kinds.${type}`) ? t(`nodes.kinds.${type}` as 'nodes.kinds.WORKER') : type;
  return <span title={type}>{name}</span>;
}

function YesNo({ value }: { value: boolean }) {
  const { t } = useTranslation();
  return <span className={value ? undefined : words.dim}>{t(value ? 'common.yes' : 'common.no')}</span>;
}
