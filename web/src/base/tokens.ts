/** All colours, sizes and fonts of the UI. Components use these or the CSS variables generated from them. */

type Shades = { light: string; dark: string };

/**
 * A colour for each of Ray's task states and for CUT_OFF. Waiting states have warm colours, starting ones
 * teal, running ones blue to violet, and ended ones green or red. Attempts that are blocked in ray.get or
 * ray.wait still hold a worker, so they have colours of running ones.
 */
export const stateColors: Record<string, Shades> = {
  PENDING_ARGS_AVAIL: { light: '#a3845c', dark: '#b89b74' },
  PENDING_NODE_ASSIGNMENT: { light: '#d9930d', dark: '#e3a93b' },
  PENDING_OBJ_STORE_MEM_AVAIL: { light: '#d9730d', dark: '#e68a3c' },
  PENDING_ARGS_FETCH: { light: '#b5a415', dark: '#c9b93c' },
  SUBMITTED_TO_WORKER: { light: '#6b95a8', dark: '#7fa9bb' },
  PENDING_ACTOR_TASK_ARGS_FETCH: { light: '#3f9c93', dark: '#55b3aa' },
  PENDING_ACTOR_TASK_ORDERING_OR_CONCURRENCY: { light: '#2b8a83', dark: '#3fa59d' },
  GETTING_AND_PINNING_ARGS: { light: '#17a2b8', dark: '#35bccf' },
  RUNNING: { light: '#2f6fed', dark: '#5b8ff5' },
  RUNNING_IN_RAY_GET: { light: '#6f5bd6', dark: '#8f7dee' },
  RUNNING_IN_RAY_WAIT: { light: '#a04fc9', dark: '#b974dd' },
  FINISHED: { light: '#2f9e5b', dark: '#46b574' },
  FAILED: { light: '#c92a30', dark: '#f4787c' },
  CUT_OFF: { light: '#868e99', dark: '#8b939e' },
};

/** Colours of the states of actors, nodes, workers, jobs and placement groups, by meaning. */
export const toneColors = {
  good: { light: '#2f9e5b', dark: '#46b574' },
  bad: { light: '#c92a30', dark: '#f4787c' },
  busy: { light: '#2f6fed', dark: '#5b8ff5' },
  waiting: { light: '#d9930d', dark: '#e3a93b' },
  quiet: { light: '#868e99', dark: '#8b939e' },
} satisfies Record<string, Shades>;

/** The tone of waiting states, dark enough for text. */
const waitingText: Shades = { light: '#8a5a00', dark: '#e3a93b' };

export type Tone = keyof typeof toneColors;

/** Tones of the outcomes of failed tasks. */
export const outcomeTones = {
  final: 'bad',
  retrying: 'waiting',
  recovered: 'quiet',
} satisfies Record<string, Tone>;

/** Colours of chart series, in order. Each is readable on a panel and easy to distinguish from the others. */
export const seriesColors: readonly Shades[] = [
  { light: '#2f6fed', dark: '#5b8ff5' },
  { light: '#d9690b', dark: '#f0944d' },
  { light: '#2a9055', dark: '#46b574' },
  { light: '#c23a9b', dark: '#e673c3' },
  { light: '#0e8fa3', dark: '#35bccf' },
  { light: '#7a4fd6', dark: '#a78bf5' },
  { light: '#c8343a', dark: '#f0656a' },
  { light: '#94800f', dark: '#d4c04a' },
  { light: '#1f3f8f', dark: '#b4ccff' },
  { light: '#8a5a3c', dark: '#c3a284' },
  { light: '#7d2d64', dark: '#a8588f' },
  { light: '#0f5f53', dark: '#2f8578' },
];

/** The eight terminal colours for log lines. Each is readable on a panel. */
const terminalColors = {
  black: { light: '#212529', dark: '#868e96' },
  red: { light: '#c92a2a', dark: '#ff8787' },
  green: { light: '#2b7a35', dark: '#69db7c' },
  yellow: { light: '#8f5f00', dark: '#ffd43b' },
  blue: { light: '#1864ab', dark: '#74c0fc' },
  magenta: { light: '#862e9c', dark: '#e599f7' },
  cyan: { light: '#0b7285', dark: '#66d9e8' },
  white: { light: '#6b7480', dark: '#f1f3f5' },
} satisfies Record<string, Shades>;

/** Surfaces and borders. Text colours are Mantine's. */
export const surfaceColors = {
  page: { light: '#f7f8fa', dark: '#14171c' },
  panel: { light: '#ffffff', dark: '#1a1e24' },
  raised: { light: '#ffffff', dark: '#20252c' },
  hover: { light: '#f1f4f8', dark: '#232931' },
  selected: { light: '#e6effe', dark: '#1f3052' },
  line: { light: '#e2e6eb', dark: '#2c333c' },
  lineSoft: { light: '#eef0f3', dark: '#252b33' },
  muted: { light: '#5d6673', dark: '#98a1ad' },
} satisfies Record<string, Shades>;

/** Mantine's ten dark shades (text to page) in the hue of the surface colours. */
export const darkShades = [
  '#d5dae1',
  '#b8bfc9',
  '#98a1ad',
  '#6b7480',
  '#3a424d',
  '#2c333c',
  '#20252c',
  '#1a1e24',
  '#14171c',
  '#0f1216',
] as const;

export const sizes = {
  rowHeights: { comfortable: 32, compact: 25 },
  tableHeadHeight: 32,
  tablePadding: 8,
  header: 48,
  nav: 216,
  navNarrow: 52,
  drawer: 720,
};

export const fonts = {
  text: 'Inter, system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Noto Sans CJK SC", "PingFang SC", "Microsoft YaHei", sans-serif',
  mono: 'ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", "Noto Sans Mono CJK SC", monospace',
};

const kebab = (name: string) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** The CSS variables of one colour scheme: `--rs-page`, `--rs-tone-good`, `--rs-state-RUNNING`, ... */
export function cssVariables(scheme: 'light' | 'dark'): Record<string, string> {
  const variables: Record<string, string> = {};
  for (const [name, shades] of Object.entries(surfaceColors))
    variables[`--rs-${kebab(name)}`] = shades[scheme];
  for (const [name, shades] of Object.entries(toneColors)) variables[`--rs-tone-${name}`] = shades[scheme];
  for (const [name, shades] of Object.entries(terminalColors))
    variables[`--rs-terminal-${name}`] = shades[scheme];
  variables['--rs-tone-waiting-text'] = waitingText[scheme];
  for (const [at, shades] of seriesColors.entries()) variables[`--rs-series-${at}`] = shades[scheme];
  for (const [name, shades] of Object.entries(stateColors)) variables[`--rs-state-${name}`] = shades[scheme];
  return variables;
}

/** The CSS colour of a task state; grey if the state is unknown. */
export function stateColor(state: string | null): string {
  return state !== null && state in stateColors ? `var(--rs-state-${state})` : 'var(--rs-tone-quiet)';
}

/** Ray's task states in the order in which a task passes through them. */
export const STATE_ORDER: readonly string[] = Object.keys(stateColors);

/** States that the summary counts as running. All others except the ended ones count as waiting. */
export const RUNNING_STATES: readonly string[] = ['RUNNING', 'RUNNING_IN_RAY_GET', 'RUNNING_IN_RAY_WAIT'];
