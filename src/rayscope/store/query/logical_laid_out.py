"""What the logical graph of a filter is summed up from, laid out beforehand: of a large session that has
ended, each attempt with its function, its caller and what it waited, and each data edge with its ends.

It is kept in the record itself, in tables that nobody else reads, with the state of the record that they are
made of.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import duckdb

from rayscope import __version__
from rayscope.store.flow_sql import FOREVER, NOT_DRIVER, attempt_key
from rayscope.store.quantile_sql import bucket
from rayscope.store.query import logical
from rayscope.store.query.data_edges import ends_of, share_of, summed
from rayscope.store.query.logical_names import FOLDED
from rayscope.store.query.logical_sums import (
    GROUP,
    WAITED,
    by_edge,
    keyed,
    named_groups,
    sums,
    wait_sums,
)
from rayscope.store.query.pages import Row, Where, given, rows_of
from rayscope.store.schema import SCHEMA_VERSION
from rayscope.store.session_file import SessionFile

#: The filters that it tells of: each is a column of what is laid out.
_FILTERS = frozenset({"job_id", "type", "node_id", "state", "since_ns", "until_ns"})
_VERSION = f"{__version__}-{SCHEMA_VERSION}"
#: Columns of attempts that filters ask for, as they are called there: of ``keyed``, and of attempts.
_FILTERED = "state, type, job_id, node_id, created AS created_at_ns, ended AS ended_at_ns"
_METHODS = "SELECT func FROM laid_out_calls WHERE is_method"
_FILTERED_ENDS = "coalesce(state, 'NIL') AS state, type, job_id, node_id, created_at_ns, ended_at_ns"
_CALL = "func, caller_kind, caller, is_method"
#: What is laid out; the last says of what it was made.
_TABLES = ("laid_out_calls", "laid_out_attempts", "laid_out_moves", "laid_out_ends", "laid_out")


def can_lay_out(filters: Mapping[str, Any]) -> bool:
    """Whether what is laid out tells of such filters."""
    asked = given(filters).keys()
    return bool(asked) and asked <= _FILTERS


def is_laid_out(file: SessionFile, last_ns: int) -> bool:
    """Whether that was done for what is on record now."""
    with file.reader() as reader:
        return _share(reader, file, last_ns) is not None


def lay_out(file: SessionFile, last_ns: int) -> None:
    """Do it. ``last_ns``: until when a running attempt has run. Some 15 s for ten million attempts."""
    writes = file.writes
    with file.reader() as reader:
        reader.execute("BEGIN")
        for table in _TABLES:
            reader.execute(f"DROP TABLE IF EXISTS {table}")
        where = logical.attempts_where({})
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
    """Make the tables of calls, each a function and who calls it, and of attempts with their call."""
    with_keyed, group = keyed(where, last_ns), f"hash({GROUP})"
    reader.execute(
        f"CREATE TEMP TABLE groups AS {with_keyed} SELECT DISTINCT {group} AS key, {GROUP} FROM keyed",
        where.values,
    )
    reader.execute(f"CREATE TEMP TABLE named AS {named_groups('groups')}")
    reader.execute(
        f"CREATE TABLE laid_out_calls AS SELECT row_number() OVER ()::INTEGER AS call, {_CALL} "
        f"FROM (SELECT DISTINCT {_CALL} FROM named)"
    )
    same = " AND ".join(f"c.{name} IS NOT DISTINCT FROM n.{name}" for name in _CALL.split(", "))
    reader.execute(
        f"CREATE TEMP TABLE of_group AS SELECT key, call FROM named n JOIN laid_out_calls c ON {same}"
    )
    reader.execute(
        f"CREATE TABLE laid_out_attempts AS {with_keyed} SELECT call, {_FILTERED}, took, "
        f"{bucket('run')}::SMALLINT AS run_in, {bucket('latency')}::SMALLINT AS latency_in, "
        f"{WAITED} AS waited, output_bytes "
        f"FROM keyed k JOIN of_group g ON g.key = {group} "
        f"LEFT JOIN waited w ON w.key = {attempt_key('k.')}",
        where.values,
    )


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
        f"CREATE TABLE laid_out_ends AS SELECT move, {_FILTERED_ENDS} FROM ({ends}) "
        f"JOIN attempts ON task_hi = hi AND task_lo = lo WHERE {NOT_DRIVER}"
    )


def _share(reader: duckdb.DuckDBPyConnection, file: SessionFile, last_ns: int) -> int | None:
    """Of how many objects one is laid out; None if nothing is of what is on record now."""
    try:
        found = reader.execute(
            "SELECT share FROM laid_out WHERE (version, writes, last_ns) = (?, ?, ?)",
            [_VERSION, file.writes, last_ns],
        ).fetchone()
    except duckdb.CatalogException:
        return None
    return found[0] if found else None


def logical_laid_out(
    file: SessionFile, filters: Mapping[str, Any], last_ns: int
) -> logical.LogicalRows | None:
    """What ``logical_rows`` gives for a filter, from what was laid out. None where that is not at hand or
    cannot tell, and of so few attempts that their quantiles are exact. Raises BadQuery.
    """
    if not can_lay_out(filters):
        return None
    where = logical.attempts_where(filters)
    with ThreadPoolExecutor(1, "rayscope-data") as beside, file.reader() as reader:
        share = _share(reader, file, last_ns)
        if share is None:
            return None
        (many,) = reader.execute(
            f"SELECT count(*) FROM laid_out_attempts{where.sql}", where.values
        ).fetchone() or (0,)
        if many <= logical.EXACT_QUANTILES:
            return None
        moving = beside.submit(_moves, file, where, share)
        reader.execute(f"CREATE TEMP TABLE sums AS {_sums(where)}", where.values)
        with_call = (
            "SELECT c.* EXCLUDE (call), s.* EXCLUDE (call) FROM sums s JOIN laid_out_calls c USING (call)"
        )
        found = rows_of(reader.execute(by_edge(with_call)))
        states = reader.execute(
            f"SELECT func, NULL, state, sum(n)::BIGINT FROM ({with_call}) GROUP BY ALL ORDER BY state"
        ).fetchall()
        instances, _ = logical.instances_of(reader, where, [])
        data = moving.result()
        methods = logical.methods_of(reader, found, data, _METHODS)
    rows = logical.with_states(found, states)
    return logical.LogicalRows(*rows, data, methods, instances, True, share)


def _sums(where: Where) -> str:
    """SQL of the sums over attempts, by call."""
    run = f"CASE WHEN run_in IS NOT NULL THEN least(took, {FOREVER}) END"
    took = f"least(greatest(0, ended_at_ns - created_at_ns), {FOREVER})"
    latency = f"CASE WHEN latency_in IS NOT NULL THEN {took} END"
    picked = f"SELECT *, {run} AS run, {latency} AS latency FROM laid_out_attempts{where.sql}"
    return f"{sums('call', 'run_in, latency_in', 'waited')} FROM ({picked}) GROUP BY ALL"


def _moves(file: SessionFile, where: Where, share: int) -> list[Row]:
    """The data edges with an end among the attempts of ``where``."""
    with file.reader() as reader:
        picked = f"SELECT * FROM laid_out_moves WHERE move IN (SELECT move FROM laid_out_ends{where.sql})"
        return rows_of(reader.execute(summed(f"({picked})", share), where.values))
