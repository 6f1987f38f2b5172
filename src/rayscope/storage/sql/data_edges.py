"""Sums over the objects that moved between functions."""

from __future__ import annotations

import duckdb

from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql.execution import (
    CONSUMING_KINDS,
    COUNTED,
    ENDS,
    FIRST_PUT,
    FOREVER,
    NOT_DRIVER,
    SUMMED,
    is_driver,
    moved,
    total,
)
from rayscope.storage.sql.function_names import Unfolded, box_of, shown_id, tasks_named
from rayscope.storage.sql.pages import Row, Where, rows_of

#: If ``edge_rows`` has more rows than this, only a sample of the objects is used.
MAX_EDGE_ROWS = 1_000_000
#: With fewer attempts per row of ``edge_rows`` than this, the attempts are selected first and their edges
#: looked up, instead of the other way round.
FEW = 6
#: With more attempts per row of ``edge_rows`` than this, only attempts at an end of an edge are selected.
MAX_ATTEMPTS_PER_EDGE = 1


def one_in(share: int) -> str:
    """SQL that tests whether a row of ``edge_rows`` is in the sample, which has one in ``share`` objects."""
    return f"hash(object_hi, object_lo, object_index) % {int(share)} = 0"


def ends_of(mine: str | None, share: int, is_unfolded: bool, for_each: float) -> str:
    """SQL for the CTE ``ends``: the objects that moved, with the functions at both ends and their instances.

    The query's parameters are those of :class:`Unfolded` and of ``mine``.

    Args:
        mine: condition on attempts. Only edges with such an attempt at one end are included. None for all
            edges.
        share: use one in ``share`` objects.
        is_unfolded: whether instances are shown.
        for_each: number of attempts of ``mine`` per row of ``edge_rows``. If it is small, these attempts are
            selected first.
    """
    taken = [one_in(share)] if share > 1 else []
    few = ""
    if mine is not None and for_each < FEW:
        found = f"SELECT task_hi FROM attempts WHERE {mine}"
        if for_each > MAX_ATTEMPTS_PER_EDGE:
            ends = f"FROM edge_rows WHERE {' AND '.join([CONSUMING_KINDS, *taken])}"
            found += f" AND task_hi IN (SELECT task_hi {ends} UNION ALL SELECT object_hi {ends})"
        few = f"few AS MATERIALIZED ({found}),"
        taken.append(
            f"(object_index >= {FIRST_PUT} OR task_hi IN (SELECT task_hi FROM few) "
            "OR object_hi IN (SELECT task_hi FROM few))"
        )
    # An object's ID contains the ID of the task that created it, except for objects that were put.
    made = (
        f"{{}}_hi IN (SELECT object_hi FROM edge_rows WHERE kind IN ('get', 'argument', 'fetched') "
        f"AND (object_index >= {FIRST_PUT} OR bytes IS NULL))"
    )
    edges = moved(" AND ".join(taken) or "true", made)

    def end(name: str) -> str:
        box = "NULL::VARCHAR"
        if is_unfolded:
            box = box_of(f"{name}.func", f"{name}.actor_id", shown_id(f"m.{name}"))
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
    FROM ({tasks_named(f"{NOT_DRIVER} AND task_hi IN ({ENDS})", mine)})),
ends AS (
    SELECT m.*, {end("producer")}, {end("consumer")}
    FROM moved m {join("producer")} {join("consumer")} {matched})"""


def summed(of: str, share: int) -> str:
    """SQL that sums the objects in the rows of ``of`` per pair of ends. The rows are a sample of one in
    ``share`` objects.
    """
    return f"""
SELECT producer_kind, producer, producer_box, consumer_kind, consumer, consumer_box,
    count(*) FILTER (kind = 'argument') * {int(share)} AS arguments,
    {total(f"CASE kind WHEN 'argument' THEN bytes * {int(share)} END")} AS argument_bytes,
    count(*) FILTER (kind = 'get') * {int(share)} AS gets,
    {total(f"CASE kind WHEN 'get' THEN bytes * {int(share)} END")} AS get_bytes
FROM {of} GROUP BY ALL
"""


def unnamed_objects(file: SessionFile, where: Where) -> int:
    """Number of objects that the attempts of ``where`` received without an edge in the record.

    A call lists only its first 256 objects, and calls beyond the tracer's budget are reported as sums.
    """
    mine, values = where.named()
    narrowed = f"AND task_hi IN (SELECT task_hi FROM attempts WHERE {mine})" if values else ""
    number = (
        f"CASE WHEN {SUMMED} THEN json_extract(extra, '$.objects') ELSE json_extract(extra, '$.unnamed') END"
    )
    with file.reader() as reader:
        found = reader.execute(
            f"SELECT least(coalesce(sum(greatest(0, TRY_CAST({number} AS BIGINT))), 0), {FOREVER})::BIGINT "
            "FROM span_rows "
            "WHERE name IN ('ray.get', 'await', 'arguments', 'rayscope.arguments') "
            f"AND ({SUMMED} OR {COUNTED}) {narrowed}",
            values,
        ).fetchone()
    return (found[0] if found else None) or 0


def share_of(reader: duckdb.DuckDBPyConnection) -> tuple[int, int]:
    """The sampling share (one in how many objects is used), and the number of rows of ``edge_rows``."""
    (rows,) = reader.execute("SELECT count(*) FROM edge_rows").fetchone() or (0,)
    return max(1, -(-rows // MAX_EDGE_ROWS)), rows


def data_edges(
    file: SessionFile, where: Where | None, attempts: int, unfolded: Unfolded
) -> tuple[int, list[Row]]:
    """The sampling share (one in how many objects is used), and the data edges with an end among the attempts
    of ``where``.

    ``attempts``: number of those attempts.
    """
    mine, values = where.named() if where is not None else (None, {})
    with file.reader() as reader:
        share, rows = share_of(reader)
        ends = ends_of(mine, share, bool(unfolded.unfolded), attempts / max(1, rows))
        found = reader.execute(f"{ends}{summed('ends', share)}", {**unfolded._asdict(), **values})
        return share, rows_of(found)
