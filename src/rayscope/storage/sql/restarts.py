"""The restarts of actors, and why the worker before each of them ended."""

from __future__ import annotations


def restarts(condition: str) -> str:
    """SQL of the restarts of the actors that fit ``condition``.

    Columns: those of ``actor_rows``, ``step`` (the JSON of the change of state), and ``message``: the exit of
    the worker that the actor had before, NULL if it is not on record.
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
