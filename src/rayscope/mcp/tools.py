"""The tools of the MCP server. Each asks a Rayscope server and formats its answer. None changes anything."""

from __future__ import annotations

import difflib
import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal
from urllib.parse import parse_qsl, unquote, urlsplit

from pydantic import Field

from rayscope.client.filters import EntityFilters, EventFilters, TaskFilters
from rayscope.client.server_url import public_url
from rayscope.errors import RayscopeError
from rayscope.mcp.answer import DEFAULT_TOKENS, MAX_TOKENS, MIN_TOKENS, Answer, time
from rayscope.mcp.target import FENCED, SESSION_COLUMNS, SessionView, Target, failure, session_row
from rayscope.mcp.why import Question, log_texts, why
from rayscope.units import duration

#: Maximum number of rows of a table that a tool requests.
_MAX_ROWS = 1000
_MAX_SESSIONS = 200
#: Number of values of each series of a metric.
_POINTS = 20
#: Address of the resource that describes the tables.
SCHEMA = "rayscope://schema"
_NAMES = "SELECT table_name, column_name FROM information_schema.columns"
#: Views, without those that are parts of other views.
_VIEWS = """
SELECT table_name, string_agg(column_name || ' ' || data_type, ', ' ORDER BY ordinal_position)
FROM information_schema.columns JOIN duckdb_views() ON view_name = table_name AND NOT internal
WHERE NOT ends_with(table_name, '_rows') GROUP BY 1 ORDER BY 1"""
#: DuckDB's messages about names that do not exist.
_UNKNOWN = re.compile(
    r"Table with name (?P<table>\w+) does not exist|"
    r"(?:column|have a column named) \"(?:\w+\.)?(?P<column>\w+)\"",
)
#: Columns of tables that have many.
_COLUMNS = {
    "tasks": "task_id, attempt, func_name, state, job_id, node_id, created_ns, duration_ns, waiting_ns, "
    "error_type"
}
#: Verdicts of a comparison -> text.
_VERDICTS = {
    "slower": "b is slower",
    "faster": "b is faster",
    "no_change": "no change",
    "cannot_tell": "cannot tell, because the runs are too few or vary too much",
}
_ENTITIES = ("actors", "nodes", "workers", "jobs", "placement-groups")

Session = Annotated[str, Field(description="Session ID, its beginning, or name; default: the newest")]
Job = Annotated[str, Field(description="Job ID; default: the longest job")]
Cursor = Annotated[str, Field(description="From the last line of a cut answer, with the same arguments")]
Tokens = Annotated[int, Field(description="Size of the answer", ge=MIN_TOKENS, le=MAX_TOKENS)]


class Tools:
    """The tools. ``connect`` returns the server to ask, and raises RayscopeError if there is none."""

    def __init__(self, connect: Callable[[], Target]) -> None:
        self._connect = connect

    def all(self) -> list[Callable[..., str]]:
        """Return the tools, in the order in which clients list them."""
        return [
            self.why,
            self.overview,
            self.sessions,
            self.compare,
            self.rows,
            self.logs,
            self.metrics,
            self.sql,
            self.stack,
            self.open,
        ]

    def explain(self, error: RayscopeError) -> str:
        """Return the text of an error."""
        try:
            return failure(error, self._connect())
        except RayscopeError:
            return failure(error, None)

    def schema(self) -> str:
        """Return the tables of the newest session and their columns, for SQL."""
        view = self._view("")
        rows = view.client.sql(_VIEWS, session=view.name, limit=_MAX_ROWS)["rows"]
        return "\n".join(
            [
                "# Tables for the tools sql and rows, in DuckDB's SQL. IDs are hex. *_ns are nanoseconds:",
                "# durations, or times since the epoch (make_timestamp_ns(x)). NULL is unknown.",
                "# JSON is text: required_resources ->> '$.CPU'.",
                *(f"{name}({columns})" for name, columns in rows),
            ]
        )

    def why(
        self,
        question: Annotated[
            Question,
            Field(
                description="slow: what took a job's time and what would save some; failed: errors; pending: "
                "work that does not begin; stuck: work that does not end; died: workers, actors, nodes, jobs"
            ),
        ],
        session: Session = "",
        job: Job = "",
        of: Annotated[str, Field(description="Only this function, actor class, or ID")] = "",
        cursor: Cursor = "",
        max_tokens: Tokens = DEFAULT_TOKENS,
    ) -> str:
        """Explain what went wrong: verdict, cause, rows of evidence, and a link. Start here."""
        return why(self._view(session), question, job, of).page(cursor, max_tokens)

    def overview(
        self, session: Session = "", cursor: Cursor = "", max_tokens: Tokens = DEFAULT_TOKENS
    ) -> str:
        """Show a session at a glance: jobs, states, functions by time, failures, alerts, missing data."""
        view = self._view(session)
        summary = view.client.summary(view.name)
        answer = view.answer("overview")
        answer.say(f"Tasks: {summary['tasks']}, attempts: {summary['attempts']}.")
        answer.table("Attempts by state", ("state", "attempts"), summary["states"].items())
        answer.items(
            "Jobs",
            ("job_id", "state", "entrypoint", "start_ns", "end_ns", "message"),
            view.client.jobs(session=view.name, limit=20),
        )
        answer.items(
            "Failures (more: why failed)",
            ("func_name", "error_type", "message", "outcome", "attempts"),
            view.client.failures(session=view.name, limit=5)["items"],
        )
        answer.items(
            "Alerts", ("name", "severity", "summary", "since_ns"), view.client.alerts(view.name)["items"]
        )
        rows = (
            (
                each["func_name"],
                each["attempts"],
                each["failed"],
                each["running"],
                duration(each["p50_ns"]),
                duration(each["max_ns"]),
                duration(each["duration_ns"]),
            )
            for each in summary["functions"]
        )
        columns = ("function", "attempts", "failed", "running", "median", "longest", "total")
        answer.table("Functions, by total duration (why it took so long: why slow)", columns, rows)
        dropped = summary["dropped"]
        if dropped["total"] or summary["cannot_see"]:
            answer.data(
                "Missing from the record",
                [
                    *([f"{dropped['total']} reports were lost."] if dropped["total"] else []),
                    *map(str, summary["cannot_see"]),
                ],
            )
        return answer.page(cursor, max_tokens)

    def sessions(
        self,
        q: Annotated[str, Field(description="Text in the name, script, host, tags, or note")] = "",
        cursor: Cursor = "",
        max_tokens: Tokens = DEFAULT_TOKENS,
    ) -> str:
        """List the recorded sessions (Ray clusters, alive or gone), newest first."""
        target = self._connect()
        found = target.client.sessions(limit=_MAX_SESSIONS, q=q or None)
        answer = Answer(f"Sessions, the newest first (times are UTC). {FENCED}")
        answer.table("Sessions", SESSION_COLUMNS, map(session_row, found.to_list()))
        left_out = (found.total or 0) - _MAX_SESSIONS
        if left_out > 0:
            answer.say(f"{left_out} older sessions are not listed: narrow the list with q.")
        return answer.page(cursor, max_tokens)

    def compare(
        self,
        b: Annotated[
            str, Field(description="Newer runs: SESSION or SESSION/JOB, comma-separated, or tag:TAG")
        ],
        a: Annotated[str, Field(description="Older runs; default: earlier runs of the same script")] = "",
        cursor: Cursor = "",
        max_tokens: Tokens = DEFAULT_TOKENS,
    ) -> str:
        """Compare runs: is b slower than a, which causes and functions changed, and what else differs."""
        target = self._connect()
        compared = target.client.compare(a or None, b)
        sides = [
            ",".join(f"{run['session']}/{run['job_id']}" for run in compared[side]["runs"])
            for side in ("a", "b")
        ]
        answer = Answer(f"Comparison of runs. {FENCED}")
        if target.has_ui:
            answer.say(f"UI: {public_url(target.client.url)}/compare?a={sides[0]}&b={sides[1]}")
        change = compared["duration"]
        lines = [
            f"Verdict: {_VERDICTS[change['verdict']]}. a took {duration(change['a_ns'])}, "
            f"b {duration(change['b_ns'])} ({change['ratio']:.3f} times as long)."
        ]
        if change["low"] is not None and change["high"] is not None:
            lines.append(f"The ratio is {change['low']:.3f} to {change['high']:.3f} with 99 % confidence.")
        if change["more_runs"]:
            lines.append(f"{change['more_runs']} more runs on each side would tell.")
        for line in lines:
            answer.say(line)
        parts = (
            (
                part["phase"],
                part["function"],
                duration(part["change_ns"]),
                duration(part["a_ns"]),
                duration(part["b_ns"]),
            )
            for part in compared["waterfall"]
        )
        answer.table(
            "Causes of the difference, which sum to it", ("phase", "function", "change", "a", "b"), parts
        )
        functions = (
            (
                each["name"],
                each["verdict"],
                each["ratio"],
                duration(each["change_ns"]),
                each["renamed_from"],
                *(side["attempts"] if side else None for side in (each["a"], each["b"])),
                *(duration(side["mean_ns"]) if side else None for side in (each["a"], each["b"])),
            )
            for each in compared["functions"]
        )
        columns = (
            "function",
            "verdict",
            "ratio",
            "change",
            "renamed from",
            "calls a",
            "calls b",
            "mean a",
            "mean b",
        )
        answer.table("Functions", columns, functions)
        warnings = (
            (each["code"], "; ".join(each["a"]), "; ".join(each["b"])) for each in compared["warnings"]
        )
        answer.table("Why they may not be comparable", ("code", "a", "b"), warnings)
        differences = (
            (each["what"], *("; ".join(side or []) for side in (each["a"], each["b"])))
            for each in sorted(compared["differences"], key=lambda each: None in (each["a"], each["b"]))
        )
        answer.table("What else differs", ("what", "a", "b"), differences)
        return answer.page(cursor, max_tokens)

    def rows(
        self,
        table: Annotated[str, Field(description="tasks, phases, actors, nodes, workers, jobs, spans, ...")],
        where: Annotated[
            str, Field(description="SQL condition: state = 'FAILED' AND duration_ns > 1e9")
        ] = "",
        columns: Annotated[str, Field(description="SQL columns: func_name, sum(duration_ns) AS total")] = "",
        group_by: Annotated[str, Field(description="Columns to group by")] = "",
        sort: Annotated[str, Field(description="Columns; with - before one, descending")] = "",
        session: Session = "",
        cursor: Cursor = "",
        max_tokens: Tokens = DEFAULT_TOKENS,
    ) -> str:
        """Query a table with filters, groups and an order, as CSV. Durations and times are in ns."""
        columns = columns or (f"{group_by}, count(*) AS n" if group_by else _COLUMNS.get(table, "*"))
        # A comment in a part ends with its line.
        query = f"SELECT {columns}\nFROM {table}\n"
        query += f"WHERE ({where}\n)\n" if where else ""
        query += f"GROUP BY {group_by}\n" if group_by else ""
        order = (re.sub(r"^\s*-(.*)", r"\1 DESC", part) for part in sort.split(","))
        # Without an order, another call with a cursor could return other rows.
        query += f"ORDER BY {', '.join(order) if sort else 'ALL'}"
        return self._rows_of(self._view(session), query, "Rows").page(cursor, max_tokens)

    def sql(
        self,
        query: Annotated[str, Field(description="One SELECT in DuckDB's SQL")],
        session: Session = "",
        cursor: Cursor = "",
        max_tokens: Tokens = DEFAULT_TOKENS,
    ) -> str:
        """Run one SELECT on a session. Read the resource rayscope://schema for tables and columns."""
        return self._rows_of(self._view(session), query, "Result").page(cursor, max_tokens)

    def logs(
        self,
        task_id: Annotated[str, Field(description="The log of a task (or of its attempt)")] = "",
        actor_id: str = "",
        job_id: Annotated[str, Field(description="The output of a job's driver")] = "",
        worker_id: str = "",
        search: Annotated[str, Field(description="Instead: lines of all files with this text")] = "",
        level: Literal["", "debug", "info", "warning", "error", "critical"] = "",
        lines: Annotated[int, Field(description="Number of lines", ge=1, le=_MAX_ROWS)] = 40,
        session: Session = "",
        cursor: Cursor = "",
        max_tokens: Tokens = DEFAULT_TOKENS,
    ) -> str:
        """Show the last log lines of a task, actor, job or worker, search all logs, or list the files."""
        view = self._view(session)
        client = view.client
        owner = {"task_id": task_id, "actor_id": actor_id, "job_id": job_id, "worker_id": worker_id}
        chosen: dict[str, Any] = {name: value for name, value in owner.items() if value}
        answer = view.answer("logs", search=search)
        if chosen:
            owned = client.logs(limit=lines, session=view.name, **chosen)
            for number, part in enumerate(owned["parts"], 1):
                texts = log_texts(part)
                problem = [part["problem"]["message"]] if part["problem"] else []
                heading = f"[{part['stream']} of {part['name']}]"
                answer.data(f"Log {number} of {len(owned['parts'])}", [heading, *problem, *texts])
        elif search:
            found = client.search_logs(search, level=level or None, limit=lines, session=view.name)
            if not found["items"]:
                answer.say("No line matches in what was searched.")
            if not found["complete"]:
                answer.say("The search is incomplete: it ended early, or not all files could be read.")
            answer.data("Not searched", (str(each) for each in found["not_searched"]))
            names = ("name", "offset", "level", "time_ns", "func_name", "task_id", "text")
            answer.items("Matching lines", names, found["items"])
        else:
            files = client.log_files(hide_empty=True, limit=_MAX_ROWS, session=view.name)
            answer.say(f"Files: {files['total']} (not listed: {files['left_out']}, empty: {files['empty']}).")
            names = ("name", "kind", "size", "node_id", "actor_class", "functions", "last_ns")
            answer.items("Files", names, files["files"])
        return answer.page(cursor, max_tokens)

    def metrics(
        self,
        expr: Annotated[str, Field(description="PromQL; empty: the latest values")] = "",
        name: Annotated[
            str, Field(description="Without expr: a metric, or a prefix such as ray_node_*")
        ] = "",
        since_ns: Annotated[int, Field(description="Default: the begin of the session", ge=0)] = 0,
        until_ns: Annotated[int, Field(description="Default: its end", ge=0)] = 0,
        session: Session = "",
        cursor: Cursor = "",
        max_tokens: Tokens = DEFAULT_TOKENS,
    ) -> str:
        """Evaluate PromQL over a session's metrics (20 values of each series), or list the latest values."""
        view = self._view(session)
        answer = view.answer("metrics", expr=expr)
        if not expr:
            latest = view.client.latest_metrics(name=name or None, limit=_MAX_ROWS, session=view.name)
            answer.say(f"Matching series: {latest['total']}.")
            names = ("name", "labels", "value", "time_ns")
            answer.items("Latest values", names, latest["items"])
            return answer.page(cursor, max_tokens)
        since, until = since_ns or view.item["first_ns"], until_ns or view.item["last_ns"]
        step_s = max(1, math.ceil((until - since) / 1e9 / _POINTS))
        queried = view.client.metrics(expr, since=since, until=until, step_s=step_s, session=view.name)
        answer.say(
            f"From {time(queried['since_ns'])} to {time(queried['until_ns'])}, every "
            f"{duration(queried['step_ns'])}. {queried['left_out']} more series are left out."
        )
        rows = []
        for series in queried["series"]:
            item: Mapping[str, Any] = series
            known = [value for value in item["values"] if value is not None]
            mean = sum(map(float, known)) / len(known) if known else None
            rows.append(
                (
                    item["labels"],
                    *(f(known, default=None) for f in (min, max)),
                    mean,
                    " ".join("-" if value is None else f"{float(value):.6g}" for value in item["values"]),
                )
            )
        answer.table("Series", ("labels", "min", "max", "mean", "values"), rows)
        return answer.page(cursor, max_tokens)

    def stack(
        self,
        at_ns: Annotated[
            int,
            Field(
                description="Time in ns; default: now, or the last time when an attempt was in flight", ge=0
            ),
        ] = 0,
        func_name: str = "",
        session: Session = "",
        cursor: Cursor = "",
        max_tokens: Tokens = DEFAULT_TOKENS,
    ) -> str:
        """Show which attempts were in flight at one time, as a tree of callers, and what they wait for."""
        view = self._view(session)
        filters: dict[str, Any] = {"func_name": func_name} if func_name else {}
        stack = view.client.stack(at=at_ns or None, session=view.name, **filters)
        answer = view.answer("stack", at=at_ns, func_name=func_name)
        answer.say(
            f"Attempts in flight at {time(stack['at_ns'])}: {stack['in_flight']} "
            f"(not shown: {stack['left_out']})."
        )
        lines = []
        for node in stack["nodes"]:
            waits = "".join(f", blocked on {link['name']} ×{link['count']}" for link in node["blocked_on"])
            example = f" (such as task {node['examples'][0]['task_id']})" if node["examples"] else ""
            name = f"{node['name']}: {node['situation']} ×{node['total']}"
            lines.append(f"{'  ' * min(node['depth'], 30)}{name}{waits}{example}")
        answer.data("Distributed stack, callers first", lines)
        return answer.page(cursor, max_tokens)

    def open(
        self,
        url: Annotated[str, Field(description="Address of a page of Rayscope's UI")],
        cursor: Cursor = "",
        max_tokens: Tokens = DEFAULT_TOKENS,
    ) -> str:
        """Show the data behind an address of the UI that a person pasted."""
        try:
            parts = urlsplit(url)
        except ValueError:
            parts = urlsplit("unknown")
        query = {name: value for name, value in parse_qsl(parts.query) if value}
        steps = [unquote(step) for step in parts.path.split("/") if step]
        bounds: dict[str, Any] = {"cursor": cursor, "max_tokens": max_tokens}
        if "s" in steps[:-1]:
            at = steps.index("s")
            session, page, item = [*steps[at + 1 :], "", ""][:3]
            return self._page(session, page or "tasks", item, query, bounds)
        if steps[-1:] == ["compare"]:
            return self.compare(query.get("b", ""), query.get("a", ""), **bounds)
        if steps[-1:] in ([], ["sessions"]):
            return self.sessions(query.get("q", ""), **bounds)
        raise RayscopeError(
            "This is not the address of a page with data.",
            "Copy one such as http://HOST:PORT/s/SESSION/insights.",
        )

    def _page(self, session: str, page: str, item: str, query: dict[str, str], bounds: dict[str, Any]) -> str:
        """Return the data of a page of a session. Unknown pages have the overview."""
        if page == "sql" and "sql" in query:
            return self.sql(query["sql"], session, **bounds)
        if page == "metrics":
            return self.metrics(query.get("expr", ""), session=session, **bounds)
        if page == "logs" and not query.get("task"):
            return self.logs(search=query.get("search", ""), session=session, **bounds)
        if page == "stack":
            at = query.get("at", "")
            return self.stack(int(at) if at.isdecimal() else 0, query.get("func_name", ""), session, **bounds)
        questions: dict[str, Question] = {"insights": "slow", "failures": "failed"}
        if page in questions and "task" not in query:
            return self.why(questions[page], session, query.get("job_id", ""), **bounds)
        view = self._view(session)
        detail: Mapping[str, Any]
        if "task" in query:
            detail = view.client.task(query["task"], view.name)
            return _detail(view, detail, "tasks", task=query["task"]).page(**bounds)
        item = item or query.get("item", "")
        if item and page in _ENTITIES:
            detail = view.client.one(page, item, view.name)
            return _detail(view, detail, page, item=item).page(**bounds)
        if page not in (*_ENTITIES, "tasks", "events"):
            return self.overview(session, **bounds)
        shape: Any = {"tasks": TaskFilters, "events": EventFilters}.get(page, EntityFilters)
        filters = {name: value for name, value in query.items() if name in shape.__annotations__}
        if "sort" in query and page != "events":
            filters["sort"] = query["sort"]
        listing = getattr(view.client, page.replace("-", "_"))(session=view.name, limit=_MAX_ROWS, **filters)
        found = listing.to_list()
        answer = view.answer(page, **filters)
        answer.say(f"Matching rows: {listing.total}.")
        every = list(dict.fromkeys(name for row in found for name in row))
        answer.items("Rows", _COLUMNS[page].split(", ") if page in _COLUMNS else every, found)
        return answer.page(**bounds)

    def _view(self, session: str) -> SessionView:
        return SessionView(self._connect(), session)

    def _rows_of(self, view: SessionView, query: str, title: str) -> Answer:
        try:
            result = view.client.sql(query, session=view.name, limit=_MAX_ROWS)
        except RayscopeError as error:
            raise _with_names(view, query, error) from error
        answer = view.answer("sql", sql=query)
        more = ", and there are more: filter or aggregate" if result["truncated"] else ""
        answer.say(f"Rows: {len(result['rows'])}{more}.")
        answer.table(title, [name for name, _ in result["columns"]], result["rows"])
        return answer


def _with_names(view: SessionView, query: str, error: RayscopeError) -> RayscopeError:
    """Return an error about an unknown table or column with the names that are nearest to it."""
    match = _UNKNOWN.search(error.message)
    if match is None:
        return error
    table, wrong = match["table"], match["table"] or match["column"]
    found = view.client.sql(_NAMES, session=view.name, limit=10_000)["rows"]
    used = set(re.findall(r"\w+", query.lower()))
    names = {row[0] for row in found} if table else {row[1] for row in found if row[0] in used}
    near = difflib.get_close_matches(wrong, sorted(names), 5, 0.4)
    remedy = f"The nearest names are: {', '.join(near)}. " if near else ""
    return RayscopeError(
        error.message, f"{remedy}The resource {SCHEMA} lists all.", error.code, status=error.status
    )


def _detail(view: SessionView, detail: Mapping[str, Any], page: str, **query: str) -> Answer:
    """Return all fields of a task or of an entity, one on each line, and one for each item of a list."""
    answer = view.answer(page, **query)
    lines: list[str] = []
    for name, value in detail.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            lines += [
                f"{name}[{at}]: {json.dumps(each, ensure_ascii=False)}" for at, each in enumerate(value)
            ]
        elif value not in (None, [], {}, ""):
            lines.append(
                f"{name}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
            )
    answer.data("All fields (times and durations in ns)", lines)
    return answer
