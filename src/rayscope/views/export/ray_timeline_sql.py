"""The timeline of tasks as Chrome's trace events, as ``ray timeline`` writes it."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import msgspec

from rayscope.storage.sql.execution import IS_USERS_SPAN, TASK_ID
from rayscope.storage.sql.pages import Where

#: Maximum number of attempts in a timeline. Ray's has 10,000.
_MAX_ATTEMPTS = 100_000
_ROWS_PER_PIECE = 1_000
#: Ray's events of a task, with its phase in the record and the color in Chrome.
_PHASES = (
    ("task:deserialize_arguments", "deserialize", "rail_load"),
    ("task:execute", "execute", "rail_animation"),
    ("task:store_outputs", "store", "rail_idle"),
)
_COLORS = {name: color for name, _, color in _PHASES}
_OTHER_COLOR = "generic_work"
_FUNCTION = "coalesce(func_name, name, '')"
#: What Ray calls a task in its worker: a function with its module, or a method without its class. In the
#: record, the module of a script has its own name instead of ``__main__``.
_CALLED = (
    f"CASE WHEN type = 'NORMAL_TASK' THEN coalesce(module_name || '.', '') || {_FUNCTION} "
    f"ELSE split_part({_FUNCTION}, '.', -1) END"
)
#: The fields of a task that its events have.
_ARGS = {
    "task_id": TASK_ID,
    "job_id": "coalesce(job_id, '')",
    "func_or_class_name": _FUNCTION,
    "actor_id": "actor_id",
}
_FIELDS = ", ".join(f"{sql} AS shown_{name}" for name, sql in _ARGS.items())
_EVENTS = ", ".join(
    [
        *(
            f"{{'cat': '{name}', 'name': '{name}', 'from': {phase}_begin_ns, 'to': {phase}_end_ns}}"
            for name, phase, _ in _PHASES
        ),
        f"{{'cat': 'task::' || coalesce(name, {_FUNCTION}), 'name': {_CALLED}, "
        "'from': total_begin_ns, 'to': total_end_ns}",
    ]
)


class _Event(msgspec.Struct):
    cat: str
    name: str
    pid: int
    tid: int
    ts: float
    dur: float
    cname: str
    args: dict[str, str | int | None]
    ph: str = "X"


def count_left_out(reader: duckdb.DuckDBPyConnection, job_id: str | None) -> int:
    """Number of attempts that are not in a timeline because there are too many."""
    where = _attempts(job_id)
    ((count,),) = reader.execute(f"SELECT count(*) FROM attempts{where.sql}", where.values).fetchall()
    return max(0, int(count) - _MAX_ATTEMPTS)


def _attempts(job_id: str | None) -> Where:
    where = Where(["type IS NOT NULL"], [])
    if job_id is not None:
        where.add("job_id = ?", job_id)
    return where


def read_timeline(reader: duckdb.DuckDBPyConnection, job_id: str | None) -> Iterator[bytes]:
    """The timeline of a job, or of all jobs, as JSON, some of it at a time."""
    where = _attempts(job_id)
    reader.execute(
        f"""
        WITH chosen AS (SELECT *, {_FIELDS} FROM attempts{where.sql}
            ORDER BY task_hi, task_lo, attempt LIMIT {_MAX_ATTEMPTS}),
        shown AS (
            SELECT *, unnest([{_EVENTS}]) AS event FROM chosen
            UNION ALL SELECT chosen.*, {{'cat': s.name, 'name': s.name, 'from': s.begin_ns, 'to': s.end_ns}}
            FROM chosen JOIN span_rows s USING (task_hi, task_lo, attempt) WHERE {IS_USERS_SPAN})
        SELECT event['cat'], event['name'], event['from'], event['to'], attempt, coalesce(n.node_ip, ''),
            coalesce(worker_id, ''), {", ".join(f"shown_{name}" for name in _ARGS)}
        FROM shown LEFT JOIN (SELECT id, any_value(node_ip) AS node_ip FROM node_rows GROUP BY id) n
            ON n.id = node_id
        WHERE event['from'] IS NOT NULL AND event['to'] >= event['from']
        """,
        where.values,
    )
    nodes: dict[str, int] = {}
    workers: dict[tuple[int, str], int] = {}
    before = b"["
    while rows := reader.fetchmany(_ROWS_PER_PIECE):
        events = []
        for category, name, begin_ns, end_ns, attempt, ip, worker_id, *args in rows:
            node = nodes.setdefault(ip, len(nodes))
            worker = workers.setdefault((node, worker_id), len(workers))
            about = {**dict(zip(_ARGS, args, strict=True)), "attempt_number": attempt}
            color = _COLORS.get(category, _OTHER_COLOR)
            duration = (end_ns - begin_ns) / 1e3
            events.append(_Event(category, name, node, worker, begin_ns / 1e3, duration, color, about))
        yield before + msgspec.json.encode(events)[1:-1]
        before = b","
    labels: list[dict[str, object]] = [
        {"name": "process_name", "pid": node, "args": {"name": f"Node {ip}"}, "ph": "M"}
        for ip, node in nodes.items()
    ]
    labels += [
        {"name": "thread_name", "pid": node, "tid": worker, "args": {"name": f"worker:{name}"}, "ph": "M"}
        for (node, name), worker in workers.items()
    ]
    yield (before if labels else b"[") + msgspec.json.encode(labels)[1:-1] + b"]"
