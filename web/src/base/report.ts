/**
 * A report is a file that contains this UI and the recorded answers to its requests. `rayscope.report` writes
 * it; see docs/how-to/report.md.
 */

/** An answer to a request: its path below /api/v1, its query (names and values, sorted), status and body. */
type RecordedAnswer = readonly [
  path: string,
  query: readonly (readonly [string, string])[],
  status: number,
  body: unknown,
];

/** How much of something a report contains. */
export interface Extent {
  what: string;
  shown: number;
  total: number;
}

export interface Report {
  /** The path and query of the first page. */
  start: string;
  made_ns: number;
  /** The version of Rayscope that wrote it. */
  version: string;
  /** The views that it contains. */
  views: readonly string[];
  /** The lists and views of which it contains only a part. */
  parts: readonly Extent[];
  /** The moments for which it contains the stack and the physical view, in ns and in order. */
  moments: readonly string[];
  answers: readonly RecordedAnswer[];
}

/** The report that this page is, or null if it talks to a server. */
export const REPORT = (globalThis as { RAYSCOPE_REPORT?: Report }).RAYSCOPE_REPORT ?? null;

/**
 * Parameters that a recorded answer need not share: it has as many lanes and points as fit into the file, and
 * is drawn for any window.
 */
const LOOSE: Record<string, readonly string[]> = {
  '/flow/gantt': ['lanes', 'lanes_from', 'since_ns', 'until_ns', 'width'],
  '/metrics/query': ['limit', 'since_ns', 'step_ns', 'until_ns'],
};

/** The key under which an answer is found. */
function keyOf(path: string, query: readonly (readonly [string, string])[]): string {
  const loose = LOOSE[path] ?? [];
  const kept = query.filter(([name]) => !loose.includes(name));
  // Charts of peaks choose their window by the number of points.
  return JSON.stringify([path, kept.map(([name, value]) => [name, value.replace(/\[\d+s\]/g, '[]')])]);
}

/** Answers a request from the report. If it has no answer, the status is 410 and the code `not_in_report`. */
export function recorded({ answers }: Pick<Report, 'answers'>, url: string, method = 'GET'): Response {
  const { pathname, searchParams } = new URL(url, 'http://report');
  searchParams.sort();
  const key = keyOf(decodeURIComponent(pathname).replace('/api/v1', ''), [...searchParams]);
  const answer = answers.find(([path, query]) => keyOf(path, query) === key);
  if (answer === undefined || method !== 'GET') {
    console.info(`Not in the report: ${method} ${url}`);
    const message = 'The report does not contain this.';
    const error = { code: 'not_in_report', message, remedy: 'Open the session in Rayscope.' };
    return Response.json({ error }, { status: 410 });
  }
  return Response.json(answer[3], { status: answer[2] });
}

/** The moment nearest to `at` (ns) that the report contains; `at` itself on a server's page. */
export function momentNear(at: string | undefined, moments = REPORT?.moments): string | undefined {
  if (at === undefined || moments === undefined) return at;
  const distance = (moment: string) => Math.abs(Number(BigInt(moment) - BigInt(at)));
  return moments.reduce<string | undefined>(
    (nearest, moment) => (nearest === undefined || distance(moment) < distance(nearest) ? moment : nearest),
    undefined,
  );
}
