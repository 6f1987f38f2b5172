"""Who calls whom and whose values go where, by function: sums over attempts and over objects that moved."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import duckdb

from rayscope.store.errors import BadQuery
from rayscope.store.flow_sql import (
    CREATED,
    DRIVER_HI,
    END,
    ENDS,
    FIRST_PUT,
    FOREVER,
    NOT_DRIVER,
    START,
    TAKEN,
    TASK_ID,
    attempt_key,
    blocked_ns,
    function_name,
    hex_id,
    is_driver,
    moved,
    total,
)
from rayscope.store.query.attempts import attempt_filters
from rayscope.store.query.logical_sums import called
from rayscope.store.query.pages import Row, Where, given, rows_of
from rayscope.store.session_file import SessionFile

#: Unfolded classes and functions of one question, the instances that are shown of each class (those with the
#: most attempts), and the calls of each function (the longest).
MAX_EXPANDED = 10
MAX_INSTANCES = 50
MAX_CALLS = 50
#: With more attempts than this, quantiles are estimated instead of exact (of unfolded classes by a sample).
EXACT_QUANTILES = 100_000
#: With more rows of ``edge_rows`` than this, data edges are those of a share of the objects.
MAX_EDGE_ROWS = 1_000_000
#: Of fewer attempts than so many for each data edge the edges are looked for, else the attempts of all edges.
FEW = 6
#: Of more than so many for each data edge, only those are looked at that are an end of one.
MANY = 1
#: Data edges are looked for beside the sums of at most so many attempts: more would need too much memory.
_MAX_BESIDE = 1_000_000
#: Filters that may leave all attempts of a function.
_BY_FUNCTION = frozenset({"func_name", "name", "job_id", "type", "since_ns", "until_ns"})
_ACTOR = "type IN ('ACTOR_TASK', 'ACTOR_CREATION_TASK')"
_KEY = "task_hi, task_lo, attempt"


def _class_of(name: str) -> str:
    """SQL of the class of a method's name; NULL if it has none. (Function names have no dots.)"""
    return f"nullif(left({name}, greatest(0, length({name}) - length(split_part({name}, '.', -1)) - 1)), '')"


def _named(of: str, select: str) -> str:
    """SQL of rows of ``of`` with ``func``, their function."""
    return f"SELECT {select}, {function_name('p')} AS func FROM {of} p"


def _tasks_named(which: str, mine: str | None = None) -> str:
    """SQL of task ids, each once, with their function and actor, of the attempts that ``which`` picks; and
    ``is_mine``: whether one of these attempts fulfils that condition.

    Nearly all tasks have a first attempt on record: only the others need to be grouped.
    """
    key = "p.task_hi, p.task_lo, p.actor_id, p.is_mine"
    again = f"FROM attempts WHERE attempt != 0 AND {which}"
    task = "hash(task_hi, task_lo)"
    matches = "NULL" if mine is None else f"{mine} OR {task} IN (SELECT {task} {again} AND {mine})"
    first = _named(f"(SELECT *, {matches} AS is_mine FROM attempts WHERE attempt = 0 AND {which})", key)
    later = _named(f"(SELECT *, {mine or 'NULL'} AS is_mine {again})", key)
    return f"""
{first}
UNION ALL
SELECT task_hi, task_lo, any_value(actor_id), bool_or(is_mine), any_value(func) FROM ({later}) l
WHERE NOT EXISTS (
    SELECT 1 FROM attempts f WHERE f.attempt = 0 AND f.task_hi = l.task_hi AND f.task_lo = l.task_lo
        AND f.task_hi IN (SELECT task_hi FROM attempts WHERE attempt != 0))
GROUP BY task_hi, task_lo
"""


def _box(func: str, actor: str, task: str) -> str:
    """SQL of the instance or call that a row belongs to: '' in one that is not shown; NULL if its class or
    function is folded. ``task``: see :func:`_shown`.
    """
    return (
        f"CASE WHEN {_class_of(func)} IN (SELECT unnest(unfolded) FROM asked) THEN "
        f"CASE WHEN {actor} IN (SELECT unnest(actors) FROM asked) THEN {actor} ELSE '' END "
        f"WHEN {func} IN (SELECT unnest(unfolded) FROM asked) AND NOT contains({func}, '.') THEN "
        f"coalesce({task}, '') END"
    )


def _shown(task: str) -> str:
    """SQL of a task's id if it is one of those that are shown, else NULL."""
    # Put together for few tasks only: a subquery with IN would do so for all.
    identifier = hex_id(task)
    return (
        f"CASE WHEN list_contains((SELECT highs FROM asked), {task}_hi) THEN "
        f"CASE WHEN list_contains((SELECT tasks FROM asked), {identifier}) THEN {identifier} END END"
    )


class _Asked(NamedTuple):
    """What is unfolded, the actors and tasks that are shown of it, and the first parts of the tasks' ids."""

    unfolded: list[str]
    actors: list[str]
    tasks: list[str]
    highs: list[int]


_ASKED = (
    "asked AS (SELECT ?::VARCHAR[] AS unfolded, ?::VARCHAR[] AS actors, ?::VARCHAR[] AS tasks, "
    "?::UBIGINT[] AS highs"
)


_PICKED = f"{_KEY}, func_name, name, type, state, path_id, parent_hi, parent_lo, actor_id, output_bytes"


def _called(where: Where, is_exact: bool, is_unfolded: bool, spans: str) -> str:
    """SQL of sums by function and by caller and function. ``?``: :class:`_Asked`, last_ns, the
    filters'. ``spans``: whose waits are looked at, of ``picked``.

    The caller of an attempt with a call path is told by the path; only for the others, and where instances
    are told apart, is the parent looked up.
    """
    quantile, sample = ("quantile_cont", "") if is_exact else ("reservoir_quantile", ", 8192")

    def quantiles(since: str, name: str) -> str:
        # (greatest() takes no notice of a NULL.)
        took = f"least(greatest(0, ended - {since}), {FOREVER})"
        lasted = f"CASE WHEN ended IS NOT NULL AND {since} IS NOT NULL THEN {took} END"
        return ", ".join(
            f"{quantile}({lasted}, {share}{sample})::BIGINT AS {name}_p{share * 100:.0f}_ns"
            for share in (0.5, 0.95)
        )

    wanted = f"{_class_of('up.name')} IN (SELECT unnest(unfolded) FROM asked)" if is_unfolded else "false"
    lasted = f"SELECT {_KEY}, coalesce(ended, last) AS ended FROM picked, asked"
    box = caller_box = "NULL::VARCHAR"
    if is_unfolded:
        box = _box("n.func", "n.actor_id", _shown("n.task"))
        caller_box = _box("coalesce(c.func, n.up)", "c.actor_id", _shown("n.parent"))
    return f"""
WITH {_ASKED}, ?::BIGINT AS last),
picked AS (
    SELECT {_PICKED}, {CREATED} AS created, {START} AS began, {END} AS ended FROM attempts{where.sql}),
named AS ({_named("picked", "p.*")}),
placed AS (
    SELECT n.*, up.name AS up, coalesce({is_driver("parent")}, false) AS of_driver,
        up.name IS NULL OR {wanted} AS look_up
    FROM named n
    LEFT JOIN paths own ON own.path_id = n.path_id
    LEFT JOIN paths up ON up.path_id = own.parent_path_id),
callers AS ({_tasks_named("task_hi IN (SELECT parent_hi FROM placed WHERE look_up AND NOT of_driver)")}),
called AS (
    SELECT n.*, {box} AS box,
        CASE WHEN of_driver THEN 'driver' WHEN coalesce(n.up, c.func) IS NULL THEN 'unknown' ELSE 'function'
            END AS caller_kind,
        CASE WHEN of_driver THEN right(parent_lo, 8) ELSE coalesce(n.up, c.func) END AS caller,
        CASE WHEN NOT of_driver THEN {caller_box} END AS caller_box,
        CASE WHEN began IS NULL THEN 0 ELSE greatest(0, coalesce(ended, last) - began) END AS took,
        least(took, coalesce(b.blocked, 0)) AS waited
    FROM asked, placed n
    LEFT JOIN callers c ON n.look_up AND c.task_hi = n.parent_hi AND c.task_lo = n.parent_lo
    LEFT JOIN ({blocked_ns(spans, lasted)}) b ON b.key = {attempt_key("n.")})
SELECT func, box, caller_kind, caller, caller_box, grouping(caller_kind) = 1 AS is_node,
    bool_or({_ACTOR}) AS is_method, count(*) AS attempts, count(*) FILTER (state = 'FAILED') AS failed,
    {total("took")} AS total_ns, {total("took - waited")} AS self_ns,
    {total("waited")} AS blocked_ns, {total("output_bytes")} AS output_bytes,
    {quantiles("created", "latency")}, {quantiles("began", "run")}
FROM called
GROUP BY GROUPING SETS ((func, box), (func, box, caller_kind, caller, caller_box))
"""


def _states(where: Where, is_unfolded: bool) -> str:
    """SQL of how many attempts of each function are in each state. ``?``: :class:`_Asked`, the filters'."""
    box = _box("func", "actor_id", "task") if is_unfolded else "NULL::VARCHAR"
    return f"""
WITH {_ASKED}),
picked AS (
    SELECT func_name, name, type, actor_id, {_shown("task") if is_unfolded else "NULL"} AS task,
        coalesce(state, 'NIL') AS state, count(*) AS attempts
    FROM attempts{where.sql} GROUP BY ALL),
named AS ({_named("picked", "p.actor_id, p.task, p.state, p.attempts")})
SELECT func, {box} AS box, state, sum(attempts)::BIGINT FROM named GROUP BY ALL ORDER BY state
"""


def _data(mine: str | None, share: int, is_unfolded: bool, for_each: float) -> str:
    """SQL of the objects that moved, by both ends and their instances. Parameters: those of :class:`_Asked`
    and of ``mine``, a condition on the attempts of which an end has to be one.

    ``share``: of the objects every so manieth. ``for_each``: how many of those attempts there are for each
    row of ``edge_rows``; if they are few, they are looked for first.
    """
    taken = [f"hash(object_hi, object_lo, object_index) % {int(share)} = 0"] if share > 1 else []
    few = ""
    if mine is not None and for_each < FEW:
        found = f"SELECT task_hi FROM attempts WHERE {mine}"
        if for_each > MANY:
            ends = f"FROM edge_rows WHERE {' AND '.join([TAKEN, *taken])}"
            found += f" AND task_hi IN (SELECT task_hi {ends} UNION ALL SELECT object_hi {ends})"
        few = f"few AS MATERIALIZED ({found}),"
        taken.append(
            f"(object_index >= {FIRST_PUT} OR task_hi IN (SELECT task_hi FROM few) "
            "OR object_hi IN (SELECT task_hi FROM few))"
        )
    # Who made an object is in its id, but for those that were put.
    made = (
        f"{{}}_hi IN (SELECT object_hi FROM edge_rows WHERE kind IN ('get', 'argument', 'fetched') "
        f"AND (object_index >= {FIRST_PUT} OR bytes IS NULL))"
    )
    edges = moved(" AND ".join(taken) or "true", made)

    def end(name: str) -> str:
        box = "NULL::VARCHAR"
        if is_unfolded:
            box = _box(f"{name}.func", f"{name}.actor_id", _shown(f"m.{name}"))
        return (
            f"CASE WHEN {is_driver(f'm.{name}')} THEN 'driver' WHEN {name}.func IS NULL THEN 'unknown' "
            f"ELSE 'function' END AS {name}_kind, "
            f"CASE WHEN {is_driver(f'm.{name}')} THEN right(m.{name}_lo, 8) ELSE {name}.func END AS {name}, "
            f"{box} AS {name}_box"
        )

    def join(name: str) -> str:
        return f"LEFT JOIN names {name} ON {name}.task = hash(m.{name}_hi, m.{name}_lo)"

    matched = "WHERE producer.is_mine OR consumer.is_mine" if mine is not None else ""
    return f"""
WITH asked AS (
    SELECT $unfolded::VARCHAR[] AS unfolded, $actors::VARCHAR[] AS actors, $tasks::VARCHAR[] AS tasks,
        $highs::UBIGINT[] AS highs), {few}
moved AS MATERIALIZED (
    SELECT producer_hi, producer_lo, consumer_hi, consumer_lo, kind, bytes FROM ({edges}) m
    WHERE kind IN ('argument', 'get') AND NOT coalesce(nested, false)),
names AS (
    SELECT hash(task_hi, task_lo) AS task, actor_id, func, is_mine
    FROM ({_tasks_named(f"{NOT_DRIVER} AND task_hi IN ({ENDS})", mine)})),
ends AS (
    SELECT {end("producer")}, {end("consumer")}, m.kind, m.bytes
    FROM moved m {join("producer")} {join("consumer")} {matched})
SELECT producer_kind, producer, producer_box, consumer_kind, consumer, consumer_box,
    count(*) FILTER (kind = 'argument') * {int(share)} AS arguments,
    {total(f"CASE kind WHEN 'argument' THEN bytes * {int(share)} END")} AS argument_bytes,
    count(*) FILTER (kind = 'get') * {int(share)} AS gets,
    {total(f"CASE kind WHEN 'get' THEN bytes * {int(share)} END")} AS get_bytes
FROM ends GROUP BY ALL
"""


class LogicalRows(NamedTuple):
    """What a logical graph is made of: what ``rayscope.flow.logical.logical_graph`` takes."""

    functions: list[Row]
    calls: list[Row]
    data: list[Row]
    methods: set[str]
    instances: dict[str, int]
    is_estimated: bool
    sampled: int
    #: What actors that are shown are called, by id: their name, or else what their ``__repr__`` gives. (Sums
    #: that were kept before have none.)
    names: dict[str, str] = {}  # noqa: RUF012 - of a tuple, which nobody changes


def logical_rows(
    file: SessionFile,
    filters: Mapping[str, Any],
    *,
    last_ns: int,
    expand: Sequence[str] = (),
) -> LogicalRows:
    """Sums by function, by caller and function, and by the two ends of data edges; see the fields' names.

    ``filters`` pick the attempts that count; a data edge counts if one of its ends is among them.
    ``last_ns``: until when a running attempt has run. Times in ns, sizes in bytes. Raises BadQuery.
    """
    if len(expand) > MAX_EXPANDED:
        raise BadQuery(
            f"At most {MAX_EXPANDED} classes and functions can be unfolded at once.", "Give fewer `expand`."
        )
    where = _where(filters)
    is_filtered = bool(given(filters))
    unfolded = list(dict.fromkeys(expand))
    with ThreadPoolExecutor(1, "rayscope-data") as beside, file.reader() as reader:
        many, waits = (
            (reader.execute(f"SELECT count(*) FROM {of}", values).fetchone() or (0,))[0]
            for of, values in ((f"attempts{where.sql}", where.values), ("span_rows", []))
        )
        is_exact = many <= EXACT_QUANTILES
        # To look for the waits of most attempts would take longer than to take all.
        spans = "task_hi IN (SELECT task_hi FROM picked)" if is_filtered and many < waits else "true"
        instances, actors = _instances(reader, where, unfolded)
        tasks = _longest(reader, where, unfolded, last_ns)
        asked = _Asked(unfolded, actors, tasks, [int(task[:16], 16) for task in tasks])
        mine = where if is_filtered else None
        # It needs one core only for most of its time.
        moving = beside.submit(_moved, file, mine, many, asked) if many <= _MAX_BESIDE else None
        if is_exact or unfolded:
            values = [*asked, last_ns, *where.values]
            found = rows_of(reader.execute(_called(where, is_exact, bool(unfolded), spans), values))
            counted = reader.execute(_states(where, bool(unfolded)), [*asked, *where.values]).fetchall()
        else:
            found, counted = called(reader, where, int(last_ns), spans, _ACTOR, _tasks_named)
        states: dict[tuple[str | None, str | None], dict[str, int]] = {}
        for func, box, state, number in counted:
            states.setdefault((func, box), {})[state] = number
        share, data = moving.result() if moving else _moved(file, mine, many, asked)
        methods = _methods(reader, found, data)
        names = _names(reader, actors)
    functions = [row for row in found if row.pop("is_node")]
    for row in functions:
        row["states"] = states.get((row["func"], row["box"]), {})
    kept = {id(row) for row in functions}
    return LogicalRows(
        functions,
        [row for row in found if id(row) not in kept],
        data,
        methods,
        instances,
        not is_exact,
        share,
        names,
    )


def logical_part(file: SessionFile, filters: Mapping[str, Any], whole: LogicalRows) -> LogicalRows | None:
    """What :func:`logical_rows` gives for a filter that leaves all attempts of some functions and none of the
    others, taken from the sums of all. None where these cannot tell, for one because attempts came or changed
    since. Raises BadQuery.
    """
    asked = given(filters).keys()
    if not asked or not asked <= _BY_FUNCTION:
        return None
    where = _where(filters)
    sums = {row["func"]: row for row in whole.functions}
    with file.reader() as reader:
        (many,) = reader.execute(f"SELECT count(*) FROM attempts{where.sql}", where.values).fetchone() or (0,)
        is_all = many == sum(row["attempts"] for row in sums.values())
        if many <= EXACT_QUANTILES or (not is_all and asked & {"since_ns", "until_ns"}):
            return None
        states: dict[str | None, dict[str, int]] = {}
        for func, _, state, number in reader.execute(
            _states(where, False), [*_FOLDED, *where.values]
        ).fetchall():
            states.setdefault(func, {})[state] = number
        if any(func not in sums or sums[func]["states"] != told for func, told in states.items()):
            return None
        functions = [row for row in whole.functions if row["func"] in states]
        calls = [row for row in whole.calls if row["func"] in states]
        instances, _ = _instances(reader, where, [])
        share, data = whole.sampled, [row for row in whole.data if _ends_in(row, states)]
        if None in states or reader.execute(_MIXED).fetchone() != (0,):
            share, data = _moved(file, where, many, _FOLDED)
        methods = _methods(reader, [*functions, *calls], data)
    return LogicalRows(functions, calls, data, methods, instances, whole.is_estimated, share)


_FOLDED = _Asked([], [], [], [])
_AGAIN = (
    f"(SELECT * FROM attempts WHERE {NOT_DRIVER} AND (task_hi = {DRIVER_HI} "
    "OR task_hi IN (SELECT task_hi FROM attempts WHERE attempt != 0)))"
)
#: How many tasks the function of their first attempt does not tell all of: there are others, or it has a
#: driver's id.
_MIXED = f"""
SELECT count(*) FROM (
    SELECT 1 FROM ({_named(_AGAIN, "p.task_hi, p.task_lo")}) GROUP BY task_hi, task_lo
    HAVING count(DISTINCT func) > 1 OR count(func) != count(*) OR bool_or({is_driver("task")}))
"""


def _ends_in(row: Row, functions: Collection[str | None]) -> bool:
    """Whether one of the functions is at an end of a data edge."""
    return any(row[f"{end}_kind"] == "function" and row[end] in functions for end in ("producer", "consumer"))


def _where(filters: Mapping[str, Any]) -> Where:
    where = attempt_filters(filters)
    if filters.get("type") == "DRIVER_TASK":
        where.add(NOT_DRIVER)  # drivers call, nobody calls them
    return where


def _moved(file: SessionFile, where: Where | None, many: int, asked: _Asked) -> tuple[int, list[Row]]:
    """Of how many objects one is told, and the data edges with an end among the ``many`` attempts of
    ``where``.
    """
    mine, values = where.named() if where is not None else (None, {})
    with file.reader() as reader:
        (edges,) = reader.execute("SELECT count(*) FROM edge_rows").fetchone() or (0,)
        share = max(1, -(-edges // MAX_EDGE_ROWS))
        sql = _data(mine, share, bool(asked.unfolded), many / max(1, edges))
        return share, rows_of(reader.execute(sql, {**asked._asdict(), **values}))


def _instances(
    reader: duckdb.DuckDBPyConnection, where: Where, classes: list[str]
) -> tuple[dict[str, int], list[str]]:
    """How many actors of each class have matching attempts, and those that are shown of ``classes``."""
    name = _class_of("func")
    by_actor = (
        "WITH picked AS (SELECT func_name, name, type, actor_id, count(*) AS attempts "
        f"FROM attempts{where.sql} AND {_ACTOR} AND actor_id IS NOT NULL GROUP BY ALL), "
        f"named AS ({_named('picked', 'p.actor_id, p.attempts')}) "
        f"SELECT {name} AS class, actor_id, sum(attempts) AS attempts FROM named "
        "WHERE class IS NOT NULL GROUP BY class, actor_id"
    )
    counted = reader.execute(
        f"SELECT class, count(*) FROM ({by_actor}) GROUP BY class", where.values
    ).fetchall()
    shown: list[tuple[str]] = []
    if classes:
        shown = reader.execute(
            f"SELECT actor_id FROM ({by_actor}) WHERE list_contains(?, class) "
            "QUALIFY row_number() OVER (PARTITION BY class ORDER BY attempts DESC, actor_id) "
            f"<= {MAX_INSTANCES}",
            [*where.values, classes],
        ).fetchall()
    return dict(counted), [actor for (actor,) in shown]


def _names(reader: duckdb.DuckDBPyConnection, actors: list[str]) -> dict[str, str]:
    """What they are called, by id; of those that have no name at all nothing."""
    if not actors:
        return {}
    return dict(
        reader.execute(
            "SELECT actor_id, coalesce(max(nullif(a.name, '')), max(nullif(actor_repr_name, ''))) AS told "
            "FROM attempts LEFT JOIN actor_rows a ON a.id = actor_id "
            "WHERE actor_id IN (SELECT unnest(?::VARCHAR[])) GROUP BY actor_id HAVING told IS NOT NULL",
            [actors],
        ).fetchall()
    )


def _longest(
    reader: duckdb.DuckDBPyConnection, where: Where, functions: Sequence[str], last_ns: int
) -> list[str]:
    """The tasks with the longest matching attempts of each of ``functions``."""
    took = f"CASE WHEN {START} IS NOT NULL THEN coalesce({END}, {int(last_ns)}) - {START} END"
    return [
        task
        for function in functions
        for (task,) in reader.execute(
            f"SELECT {TASK_ID} AS task FROM attempts{where.sql} AND coalesce(func_name, name) = ? "
            f"ORDER BY {took} DESC NULLS LAST, task LIMIT {MAX_CALLS}",
            [*where.values, function],
        ).fetchall()
    ]


def _methods(reader: duckdb.DuckDBPyConnection, found: list[Row], data: list[Row]) -> set[str]:
    """Which functions are methods of actors, those among them of which no attempt told: callers and ends."""
    known = {row["func"] for row in found}
    methods = {row["func"] for row in found if row["is_method"] and row["func"]}
    named = {row["caller"] for row in found if row["caller_kind"] == "function"}
    for name in ("producer", "consumer"):
        named |= {row[name] for row in data if row[f"{name}_kind"] == "function"}
    asked = sorted(name for name in named - known if "." in name)
    if not asked:
        return methods
    told = reader.execute(
        f"SELECT DISTINCT func_name FROM attempts WHERE {_ACTOR} "
        "AND func_name IN (SELECT unnest(?::VARCHAR[]))",
        [asked],
    ).fetchall()
    # A restart has no name of its own.
    return methods | {name for (name,) in told} | {name for name in asked if name.endswith(".__init__")}
