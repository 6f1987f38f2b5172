"""Reads more about the links of a path: their actors, and when their attempts were suspended."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import duckdb

from rayscope.storage.rows import join_id, split_id
from rayscope.storage.sql.execution import AWAITING, IS_AWAITING, IS_OPEN, SUMMED
from rayscope.storage.sql.node_names import unique_node_name
from rayscope.views.critical_path.compute import Link
from rayscope.views.critical_path.schemas import PathActor


def read_awaiting(
    reader: duckdb.DuckDBPyConnection, links: Sequence[Link], last_ns: int
) -> dict[tuple[str, int], list[tuple[int, int, int]]]:
    """Return when the attempts of executing links were suspended, by (task ID, attempt).

    The format is that of ``stretches`` in :func:`compute.split_awaiting`. Suspensions without a recorded end
    last until ``last_ns``.
    """
    keys = {split_id(link.task_id) for link in links if link.phase == "executing"}
    high, low = zip(*keys, strict=True) if keys else ((), ())
    summed = "TRY_CAST(json_extract(extra, '$.blocked_ns') AS BIGINT)"
    found: dict[tuple[str, int], list[tuple[int, int, int]]] = defaultdict(list)
    for task_hi, task_lo, attempt, begin, end, awaited in reader.execute(
        f"""
WITH wanted AS (SELECT unnest($high::UBIGINT[]) AS task_hi, unnest($low::VARCHAR[]) AS task_lo)
SELECT task_hi, task_lo, attempt, begin_ns, end_ns,
    CASE WHEN {SUMMED} THEN greatest(0, least({summed}, end_ns - begin_ns)) ELSE end_ns - begin_ns END
FROM span_rows SEMI JOIN wanted USING (task_hi, task_lo) WHERE {IS_AWAITING} AND end_ns > begin_ns
UNION ALL
SELECT DISTINCT b.task_hi, b.task_lo, attempt, begin_ns, $last, $last - begin_ns
FROM edge_rows b SEMI JOIN wanted USING (task_hi, task_lo)
WHERE {IS_OPEN} AND kind = '{AWAITING}' AND begin_ns < $last
ORDER BY begin_ns, end_ns""",
        {"high": [*high], "low": [*low], "last": last_ns},
    ).fetchall():
        found[join_id(task_hi, task_lo) or "", attempt].append((begin, end, awaited))
    return found


def read_actors(reader: duckdb.DuckDBPyConnection, links: Sequence[Link]) -> dict[str, PathActor]:
    """Return, for each function, the actor that accounts for the most time of these links."""
    keys = [(*split_id(link.task_id), link.attempt, link.name, link.end_ns - link.begin_ns) for link in links]
    high, low, attempt, name, length = zip(*keys, strict=True) if keys else ((),) * 5
    found = reader.execute(
        f"""
SELECT name, max_by(actor_id, ns), max_by(pid, ns), max_by(node_id, ns), max_by(host, ns), count(*), max(ns)
FROM (
    SELECT l.name, a.actor_id, max(a.worker_pid) AS pid, max(a.node_id) AS node_id,
        max({unique_node_name("n")}) AS host, sum(l.ns) AS ns
    FROM (
        SELECT unnest($high::UBIGINT[]) AS high, unnest($low::VARCHAR[]) AS low,
            unnest($attempt::INTEGER[]) AS attempt, unnest($name::VARCHAR[]) AS name,
            unnest($ns::BIGINT[]) AS ns) l
    JOIN attempts a ON a.task_hi = l.high AND a.task_lo = l.low AND a.attempt = l.attempt
    LEFT JOIN node_rows n ON n.id = a.node_id
    WHERE a.actor_id IS NOT NULL
    GROUP BY l.name, a.actor_id)
GROUP BY name""",
        {"high": [*high], "low": [*low], "attempt": [*attempt], "name": [*name], "ns": [*length]},
    ).fetchall()
    return {
        function: {
            "actor_id": actor_id,
            "pid": pid,
            "node_id": node_id,
            "host": host,
            "actors": actors,
            "total_ns": int(total),
        }
        for function, actor_id, pid, node_id, host, actors, total in found
    }
