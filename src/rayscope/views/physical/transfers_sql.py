"""Objects that moved between nodes, as far as tracers recorded them."""

from __future__ import annotations

from typing import NamedTuple

from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql.data_edges import one_in, share_of
from rayscope.storage.sql.execution import ENDS, FIRST_PUT, NOT_DRIVER, moved, nodes_of, total
from rayscope.views.physical.schemas import TransferPair

MAX_PAIRS = 200

_TAKEN = "kind IN ('get', 'fetched') AND end_ns > {since} AND end_ns <= {until}"


def _pairs(since: int, until: int, share: int) -> str:
    taken = _TAKEN.format(since=since, until=until)
    if share > 1:
        taken += f" AND {one_in(share)}"
    # An object's ID identifies its producer, except for objects that were put.
    made = (
        f"{{}}_hi IN (SELECT object_hi FROM edge_rows WHERE {taken} "
        f"AND (object_index >= {FIRST_PUT} OR bytes IS NULL))"
    )
    return f"""
WITH moved AS MATERIALIZED (
    SELECT producer_hi, producer_lo, consumer_hi, consumer_lo, taken_by, object_hi, object_lo, object_index,
        bytes
    FROM ({moved(taken, made, "attempt")}) WHERE kind IN ('argument', 'get')),
nodes AS ({nodes_of(f"task_hi IN ({ENDS})")}),
takers AS (
    SELECT task_hi, task_lo, attempt, node_id FROM attempts
    WHERE {NOT_DRIVER} AND task_hi IN (SELECT consumer_hi FROM moved)),
placed AS (
    SELECT moved.*, p.node_id AS source,
        CASE WHEN t.attempt IS NULL THEN c.node_id ELSE t.node_id END AS target
    FROM moved
    JOIN nodes p ON p.task_hi = producer_hi AND p.task_lo = producer_lo
    JOIN nodes c ON c.task_hi = consumer_hi AND c.task_lo = consumer_lo
    LEFT JOIN takers t ON t.task_hi = consumer_hi AND t.task_lo = consumer_lo AND t.attempt = taken_by),
once AS (
    SELECT source, target, max(bytes) AS bytes FROM placed WHERE source != target
    GROUP BY source, target, object_hi, object_lo, object_index),
pairs AS (
    SELECT source, target, count(*) * {share} AS objects, {total(f"bytes * {share}")} AS bytes,
        count(*) FILTER (bytes IS NULL) * {share} AS unsized
    FROM once GROUP BY source, target)
SELECT pairs.*, all_pairs, all_objects, all_bytes FROM pairs, (
    SELECT count(*) AS all_pairs, sum(objects)::BIGINT AS all_objects, {total("bytes")} AS all_bytes
    FROM pairs)
ORDER BY bytes DESC, objects DESC, source, target LIMIT {MAX_PAIRS}
"""


class Transfers(NamedTuple):
    """Objects moved between nodes, and how the record samples objects.

    ``pairs`` contains the pairs of nodes with the most bytes. In each, ``unsized`` counts objects of unknown
    size. The other fields are the number of pairs, the sums over all pairs, and ``sampled``: one in how many
    objects is recorded.
    """

    pairs: list[TransferPair]
    pairs_total: int
    objects: int
    bytes: int
    sampled: int


def transfers(file: SessionFile, since_ns: int, until_ns: int) -> Transfers:
    """Return the objects that tasks consumed in a time range (ns) and that other nodes had produced.

    An object counts once per consuming node, even if several tasks there consumed it. The place of
    consumption is where the consuming attempt ran or, if that attempt is not on record, where the last
    attempt of its task ran. Likewise, the result of a task was produced where the task's last attempt ran.
    """
    with file.reader() as reader:
        share, _ = share_of(reader)
        rows = reader.execute(_pairs(int(since_ns), int(until_ns), share)).fetchall()
    pairs: list[TransferPair] = [
        {"source": source, "target": target, "objects": objects, "bytes": size, "unsized": unsized}
        for source, target, objects, size, unsized, *_ in rows
    ]
    pairs_total, all_objects, all_bytes = rows[0][5:] if rows else (0, 0, 0)
    return Transfers(pairs, pairs_total, all_objects, all_bytes, share)
