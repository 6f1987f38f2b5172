import type { Change } from '../../api/insights';

type Kind = Change['kind'];

/** For each kind of change, the fields that hold its name and its amount. */
const FIELDS: Record<Kind, { name?: string; amount?: string }> = {
  speed: { name: 'function', amount: 'times' },
  cpus: { amount: 'count' },
  nodes: { amount: 'count' },
  actors: { name: 'class_name', amount: 'count' },
  num_cpus: { name: 'function', amount: 'num_cpus' },
  batch: { name: 'function', amount: 'size' },
  one_get: { name: 'function' },
  no_startup: {},
  no_stragglers: {},
  no_retries: {},
  no_transfer: {},
};

const isKind = (text: string): text is Kind => Object.hasOwn(FIELDS, text);

/** The name and the amount of a change. The name is '' and the amount null if the kind has none. */
export function partsOfChange(change: Change): { name: string; amount: number | null } {
  const fields = change as unknown as Record<string, string | number>;
  const { name, amount } = FIELDS[change.kind];
  return {
    name: name === undefined ? '' : String(fields[name]),
    amount: amount === undefined ? null : Number(fields[amount]),
  };
}

/** Builds a change of a kind. Fields that the kind does not have are left out. */
export function changeOf(kind: Kind, name = '', amount = 0): Change {
  const fields = FIELDS[kind];
  return {
    kind,
    ...(fields.amount && { [fields.amount]: amount }),
    ...(fields.name && { [fields.name]: name }),
  } as unknown as Change;
}

const escapeName = (name: string) => name.replace(/[%,]/g, encodeURIComponent);

function unescapeName(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name; // a stray % typed by the user
  }
}

/** Formats changes for the URL: `speed:2:load_chunk,cpus:4,no_startup`. */
export function formatChanges(changes: readonly Change[]): string {
  return changes
    .map((change) => {
      const { name, amount } = partsOfChange(change);
      return [change.kind, ...(amount === null ? [] : [amount]), ...(name ? [escapeName(name)] : [])].join(
        ':',
      );
    })
    .join(',');
}

/** Parses changes from the URL, skipping invalid ones. */
export function parseChanges(text: string | undefined): Change[] {
  return (text ?? '').split(',').flatMap((part) => {
    const [kind = '', ...rest] = part.split(':');
    if (!isKind(kind)) return [];
    const fields = FIELDS[kind];
    const amount = fields.amount === undefined ? 0 : Number(rest.shift() || Number.NaN);
    const name = unescapeName(rest.join(':'));
    if (Number.isNaN(amount) || (fields.name !== undefined && name === '')) return [];
    return [changeOf(kind, name, amount)];
  });
}

const isSame = (one: Change, other: Change) =>
  one.kind === other.kind && partsOfChange(one).name === partsOfChange(other).name;

/** The changes without the one that has the same kind and name. */
export const withoutChange = (changes: readonly Change[], change: Change) =>
  changes.filter((one) => !isSame(one, change));

/** Adds a change. It replaces one with the same kind and name. */
export const withChange = (changes: readonly Change[], change: Change) =>
  changes.some((one) => isSame(one, change))
    ? changes.map((one) => (isSame(one, change) ? change : one))
    : [...changes, change];

/** The amount of the change with this kind (and name); undefined if there is none. */
export function amountOf(changes: readonly Change[], kind: Kind, name = ''): number | undefined {
  const same = changes.find((one) => isSame(one, changeOf(kind, name)));
  return same === undefined ? undefined : (partsOfChange(same).amount ?? 1);
}
