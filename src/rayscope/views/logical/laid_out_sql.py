"""What the logical graph of a filter is summed up from, laid out beforehand: each attempt of a large session
with its function, its caller and what it waited, and each data edge with its ends.

It is kept in the record itself, in tables that nobody else reads, with the state of the record that they are
made of. They stay until others are made.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import duckdb

from rayscope import __version__
from rayscope.storage.schema import SCHEMA_VERSION
from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql.data_edges import ends_of, share_of, summed
from rayscope.storage.sql.execution import NOT_DRIVER, attempt_key
from rayscope.storage.sql.function_names import FOLDED
from rayscope.storage.sql.pages import Row, Where, given, rows_of
from rayscope.storage.sql.quantiles import bucket
from rayscope.views.logical import sql
from rayscope.views.logical.sums_sql import (
    GROUP,
    RESTARTED,
    WAITED,
    by_edge,
    keyed,
    named_groups,
    one_by_one,
    sums,
    wait_sums,
)

#: The filters that it tells of: those by name are told of by the labels of attempts, each other is a column.
_BY_LABEL = frozenset({"func_name", "name"})
_FILTERS = _BY_LABEL | {"job_id", "type", "node_id", "state", "since_ns", "until_ns"}
#: Another number for other tables; what another version laid out is not read.
_LAYOUT = 2
_VERSION = f"{__version__}-{SCHEMA_VERSION}-{_LAYOUT}"
#: Columns that filters ask for, as attempts call them: of ``keyed``, and of attempts.
_FILTERED = "state, type, job_id, node_id, created AS created_at_ns, ended AS ended_at_ns"
_FILTERED_ENDS = "coalesce(state, 'NIL') AS state, type, job_id, node_id, created_at_ns, ended_at_ns"
#: What filters by name look at.
_LABEL = "type, name, func_name, actor_repr_name, restarted"
#: What tells a function and its caller.
_CALL = "func, caller_kind, caller, is_method"
_METHODS = "SELECT func FROM laid_out_calls WHERE is_method"
#: What is laid out; the last says of what it was made.
_TABLES = (
    "laid_out_calls",
    "laid_out_labels",
    "laid_out_attempts",
    "laid_out_moves",
    "laid_out_ends",
    "laid_out",
)


def can_lay_out(filters: Mapping[str, Any]) -> bool:
    """Whether what is laid out tells of such filters."""
    asked = given(filters).keys()
    return bool(asked) and asked <= _FILTERS


def is_laid_out(file: SessionFile, last_ns: int) -> bool:
    """Whether that was done for what is on record now."""
    with file.reader() as reader:
        return _share(reader, file, last_ns) is not None


def lay_out(file: SessionFile, last_ns: int) -> None:
    """Do it: some 15 s for ten million attempts. ``last_ns``: until when a running attempt has run.

    What was laid out before is there until then, on disk too. Meanwhile nothing is moved from the log into
    the file.
    """
    writes = file.writes
    with file.reader() as reader:
        reader.execute("BEGIN")
        for table in _TABLES:
            reader.execute(f"DROP TABLE IF EXISTS {table}")
        where = sql.attempts_where({})
        wait_sums(reader, where, last_ns, "true")
        _lay_out_attempts(reader, where, last_ns)
        share, _ = share_of(reader)
        _lay_out_edges(reader, share)
        reader.execute(
            "CREATE TABLE laid_out AS "
            "SELECT ? AS version, ?::BIGINT AS writes, ?::BIGINT AS last_ns, ?::BIGINT AS share",
            [_VERSION, writes, last_ns, share],
        )
        reader.execute("COMMIT")


def _lay_out_attempts(reader: duckdb.DuckDBPyConnection, where: Where, last_ns: int) -> None:
    """Make the tables of calls, each a function and who calls it, of labels, and of attempts with both."""
    with_keyed, columns = keyed(where, last_ns), f"{GROUP}, {_LABEL}"
    key = f"hash({columns})"
    reader.execute(
        f"CREATE TEMP TABLE groups AS {with_keyed} SELECT DISTINCT {key} AS key, {columns} FROM keyed",
        where.values,
    )
    reader.execute(f"CREATE TEMP TABLE named AS {named_groups('groups')}")
    for table, number, of in (("calls", "call", _CALL), ("labels", "label", _LABEL)):
        reader.execute(
            f"CREATE TABLE laid_out_{table} AS SELECT row_number() OVER ()::INTEGER AS {number}, {of} "
            f"FROM (SELECT DISTINCT {of} FROM named)"
        )
    reader.execute(
        "CREATE TEMP TABLE numbers AS SELECT key, call, label FROM named n "
        f"JOIN laid_out_calls c ON {_same('c', 'n', _CALL)} "
        f"JOIN laid_out_labels l ON {_same('l', 'n', _LABEL)}"
    )
    reader.execute(
        f"CREATE TABLE laid_out_attempts AS {with_keyed} SELECT call, label, {_FILTERED}, "
        "duration, executing, total, "
        f"{bucket('duration')}::SMALLINT AS duration_in, {bucket('total')}::SMALLINT AS total_in, "
        f"{WAITED} AS waited, output_bytes "
        f"FROM keyed k JOIN numbers n ON n.key = {key} "
        f"LEFT JOIN waited w ON w.key = {attempt_key('k.')}",
        where.values,
    )


def _same(one: str, other: str, columns: str) -> str:
    return " AND ".join(f"{one}.{name} IS NOT DISTINCT FROM {other}.{name}" for name in columns.split(", "))


def _lay_out_edges(reader: duckdb.DuckDBPyConnection, share: int) -> None:
    """Make the tables of objects that moved, and of the attempts at their ends."""
    reader.execute(
        "CREATE TEMP TABLE placed AS "
        f"{ends_of(None, share, False, 0)} SELECT row_number() OVER ()::INTEGER AS move, * FROM ends",
        FOLDED._asdict(),
    )
    reader.execute(
        "CREATE TABLE laid_out_moves AS SELECT move, kind, bytes, "
        "producer_kind, producer, producer_box, consumer_kind, consumer, consumer_box FROM placed"
    )
    ends = " UNION ".join(
        f"SELECT move, {end}_hi AS hi, {end}_lo AS lo FROM placed" for end in ("producer", "consumer")
    )
    reader.execute(
        f"CREATE TABLE laid_out_ends AS SELECT label, a.* EXCLUDE ({_LABEL}), a.type FROM ("
        f"SELECT move, {_FILTERED_ENDS}, name, func_name, actor_repr_name, {RESTARTED} AS restarted "
        f"FROM ({ends}) JOIN attempts ON task_hi = hi AND task_lo = lo WHERE {NOT_DRIVER}) a "
        f"JOIN laid_out_labels l ON {_same('l', 'a', _LABEL)}"
    )


def _share(
    reader: duckdb.DuckDBPyConnection, file: SessionFile, last_ns: int, *, is_live: bool = False
) -> int | None:
    """Of how many objects one is laid out; None if nothing is of what is on record now (or was then)."""
    of = [_VERSION, last_ns] if is_live else [_VERSION, last_ns, file.writes]
    which = "version = ? AND last_ns = ?" if is_live else "version = ? AND last_ns = ? AND writes = ?"
    try:
        found = reader.execute(f"SELECT share FROM laid_out WHERE {which}", of).fetchone()
    except duckdb.CatalogException:
        return None
    return found[0] if found else None


def logical_laid_out(
    file: SessionFile,
    filters: Mapping[str, Any],
    last_ns: int,
    *,
    is_live: bool = False,
    is_past: bool = True,
) -> sql.LogicalRows | None:
    """What ``logical_rows`` gives for a filter, from what was laid out. None where that is not at hand or
    cannot tell, or is laid out anew just then. How many actors each class has is told of now. Raises
    BadQuery.

    ``is_live``: what was laid out at ``last_ns`` is told though more was recorded since. Not ``is_past``: but
    not of so few attempts that their quantiles are exact, as these are soon read anew.
    """
    if not can_lay_out(filters):
        return None
    where = _where(filters)
    with ThreadPoolExecutor(1, "rayscope-data") as beside, file.reader() as reader:
        share = _share(reader, file, last_ns, is_live=is_live)
        if share is None:
            return None
        (many,) = reader.execute(
            f"SELECT count(*) FROM laid_out_attempts{where.sql}", where.values
        ).fetchone() or (0,)
        is_exact = many <= sql.EXACT_QUANTILES
        if is_exact and not is_past:
            return None
        moving = beside.submit(_moves, file, where, share)
        by_call = f"SELECT *, 1 AS n FROM ({_picked(where)})" if is_exact else _sums(where)
        reader.execute(f"CREATE TEMP TABLE sums AS {by_call}", where.values)
        found = rows_of(reader.execute(_EXACT if is_exact else by_edge(_WITH_CALL)))
        states = reader.execute(
            f"SELECT func, NULL, state, sum(n)::BIGINT FROM ({_WITH_CALL}) GROUP BY ALL ORDER BY state"
        ).fetchall()
        instances, _ = sql.instances_of(reader, sql.attempts_where(filters), [])
        data = moving.result()
        methods = sql.methods_of(reader, found, data, _METHODS)
        if _share(reader, file, last_ns, is_live=is_live) is None:
            return None  # these may be of two
    rows = sql.with_states(found, states)
    return sql.LogicalRows(*rows, data, methods, instances, not is_exact, share)


def _where(filters: Mapping[str, Any]) -> Where:
    """The condition on what is laid out."""
    where = sql.attempts_where({name: of for name, of in filters.items() if name not in _BY_LABEL})
    by_label = {name: filters[name] for name in given(filters) if name in _BY_LABEL}
    if by_label:
        labels = sql.attempts_where(by_label)
        picked = f"SELECT label FROM (SELECT *, restarted AS actor_id FROM laid_out_labels){labels.sql}"
        where.add(f"label IN ({picked})", *labels.values)
    return where


def _picked(where: Where) -> str:
    """SQL of what is laid out of attempts."""
    return f"SELECT * REPLACE (coalesce(waited, 0) AS waited) FROM laid_out_attempts{where.sql}"


def _sums(where: Where) -> str:
    """SQL of the sums over attempts, by call."""
    return f"{sums('call', 'duration_in, total_in', 'waited')} FROM ({_picked(where)}) GROUP BY ALL"


_WITH_CALL = "SELECT c.* EXCLUDE (call), s.* EXCLUDE (call) FROM sums s JOIN laid_out_calls c USING (call)"
#: Where each row of ``sums`` is one attempt.
_EXACT = one_by_one(
    f"(SELECT *, NULL::VARCHAR AS box, NULL::VARCHAR AS caller_box FROM ({_WITH_CALL}))", "is_method"
)


def _moves(file: SessionFile, where: Where, share: int) -> list[Row]:
    """The data edges with an end among the attempts of ``where``."""
    with file.reader() as reader:
        picked = f"SELECT * FROM laid_out_moves WHERE move IN (SELECT move FROM laid_out_ends{where.sql})"
        return rows_of(reader.execute(summed(f"({picked})", share), where.values))
