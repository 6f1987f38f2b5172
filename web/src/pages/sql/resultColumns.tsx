import { textOf } from '../../base/csv';
import { duration, fullTime, shortId } from '../../base/format';
import { LIST_BY_ID_FIELD, toItem } from '../../base/url';
import { Dash } from '../../ui/Dash';
import { Link } from '../../ui/Link';
import type { Column } from '../../ui/table/columns';
import words from '../../ui/theme/words.module.css';
import { useSessionUrl } from '../../ui/useUrl';
import { numberOf, type Result, type Row, timeOf, type Value } from './result';

/** Width of a character, px. */
const CHARACTER = 8;
/** Horizontal padding of a column, px. */
const PADDING = 34;
/** Minimum width of a column, px. */
const MIN_WIDTH = 80;
/** Maximum width of a column, px. */
const MAX_WIDTH = 420;
/** Number of rows that determine the width of a column. */
const SAMPLED_ROWS = 50;

/** A table column for each column of the result, as wide as its content. */
export function resultColumns({ columns, rows }: Result): Column<Row>[] {
  return columns.map(([name, type], at) => {
    const values = (rows as Value[][]).slice(0, SAMPLED_ROWS).map((row) => row[at] ?? null);
    const isNumber = values.some((value) => numberOf(value, type) !== null);
    const longest = Math.max(name.length + 2, ...values.map((value) => shown(name, value).length));
    return {
      id: `${at}`,
      header: name,
      field: name,
      value: (row) => row.values[at],
      hint: type,
      width: Math.min(Math.max(longest * CHARACTER + PADDING, MIN_WIDTH), MAX_WIDTH),
      grow: !isNumber && (at === columns.length - 1 || longest * CHARACTER > MAX_WIDTH),
      align: isNumber ? 'right' : undefined,
      cell: (row) => <Cell name={name} type={type} value={row.values[at] ?? null} />,
    };
  });
}

const isId = (value: Value): value is string => typeof value === 'string' && /^[0-9a-f]{16,}$/.test(value);
const shown = (name: string, value: Value) => {
  if (value === null) return '-';
  return isId(value) && name.endsWith('_id') ? shortId(value) : textOf(value);
};

/** A cell with a plain value. A number of ns is explained on hover, and an id links to its entity. */
function Cell({ name, type, value }: { name: string; type: string; value: Value }) {
  const [url] = useSessionUrl();
  if (value === null) return <Dash />;
  const text = shown(name, value);
  const list = LIST_BY_ID_FIELD[name];
  if (name.endsWith('task_id') && isId(value) && value.length === 48)
    return (
      <Link
        to={{ ...url, task: value, attempt: undefined }}
        className={`${words.link} ${words.mono} ${words.num}`}
        title={value}
      >
        {text}
      </Link>
    );
  if (list !== undefined && typeof value === 'string' && value !== '')
    return (
      <Link
        to={toItem(url, list, value)}
        className={`${words.link} ${words.mono} ${words.num}`}
        title={value}
      >
        {text}
      </Link>
    );
  const number = numberOf(value, type);
  if (number === null)
    return (
      <span className={words.ellipsis} title={textOf(value)}>
        {text}
      </span>
    );
  const isNs = name.endsWith('_ns');
  const title = timeOf(value, type) !== null ? fullTime(text) : isNs ? duration(text) : undefined;
  return (
    <span className={words.num} title={title}>
      {text}
    </span>
  );
}
