"""SQL for the restarts of actors, and why the previous worker ended."""

from __future__ import annotations


def restarts(condition: str) -> str:
    """SQL for the restarts of the actors that match ``condition``.

    Columns: those of ``actor_rows``, ``step`` (the change of state as JSON), ``ended`` (the actor's previous
    worker), and ``message`` (why that worker exited, or NULL if that was not recorded).
    """
    return f"""
SELECT r.*, nullif(concat_ws(': ', exit_type, exit_detail), '') AS message
FROM (
    SELECT *, list_last(list_filter(steps[:place], lambda s: (s->>1) = 'ALIVE'))->2->>'worker_id' AS ended
    FROM (SELECT *, unnest(steps) AS step, generate_subscripts(steps, 1) AS place
        FROM (SELECT *, CAST(doc->1 AS JSON[]) AS steps FROM actor_rows WHERE {condition}))
    WHERE (step->>1) = 'RESTARTING') r
LEFT JOIN (SELECT id, exit_type, exit_detail FROM worker_rows) w ON w.id = r.ended
"""


#: The ID of an actor, the time of its restart, and its previous worker, for the actors of a list.
ENDED_WORKERS = f"""
SELECT id, (step->>0)::BIGINT AS time_ns, ended FROM ({restarts("list_contains(?, id)")})
WHERE ended IS NOT NULL ORDER BY time_ns
"""
