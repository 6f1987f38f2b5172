"""How far jobs are: all their attempts by state, and by function."""

from __future__ import annotations

from typing import Literal

from rayscope.store.flow_sql import NOT_DRIVER, function_name
from rayscope.store.query.pages import Row, rows_of
from rayscope.store.session_file import SessionFile

#: Functions that are told one by one.
MAX_FUNCTIONS = 100
_COLUMNS = {"job": "job_id", "actor": "actor_id"}


def tasks_by_job(file: SessionFile) -> dict[str, dict[str, int]]:
    """Job id -> state -> attempts in it."""
    with file.reader() as reader:
        found = reader.execute(
            f"SELECT job_id, coalesce(state, 'NIL'), count(*) FROM attempts WHERE {NOT_DRIVER} "
            "AND job_id IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2"
        ).fetchall()
    jobs: dict[str, dict[str, int]] = {}
    for job_id, state, number in found:
        jobs.setdefault(job_id, {})[state] = number
    return jobs


def functions_of(file: SessionFile, of: Literal["job", "actor"], entity_id: str) -> tuple[list[Row], Row]:
    """The functions of a job or actor with ``states`` (state -> attempts), most attempts first; and the rest.

    Each has ``func_name``, ``type``, ``attempts``, ``total_ns`` (executing, of attempts that have ended).
    The rest: ``functions``, ``attempts``, ``states`` of what is beyond the first 100.
    """
    with file.reader() as reader:
        found = rows_of(
            reader.execute(
                f"""
                WITH counted AS (
                    SELECT {function_name("attempts")} AS func_name, type, coalesce(state, 'NIL') AS state,
                        count(*) AS n,
                        coalesce(sum(ended_at_ns - executing_at_ns), 0)::BIGINT AS took
                    FROM attempts WHERE {_COLUMNS[of]} = ? AND {NOT_DRIVER} GROUP BY ALL)
                SELECT func_name, type, sum(n)::BIGINT AS attempts, sum(took)::BIGINT AS total_ns,
                    map(list(state ORDER BY state), list(n ORDER BY state)) AS states
                FROM counted GROUP BY func_name, type
                ORDER BY attempts DESC, func_name NULLS LAST, type
                """,
                [entity_id],
            )
        )
    rest: dict[str, int] = {}
    for row in found[MAX_FUNCTIONS:]:
        for state, number in row["states"].items():
            rest[state] = rest.get(state, 0) + number
    beyond = len(found) - MAX_FUNCTIONS
    return found[:MAX_FUNCTIONS], {
        "functions": max(0, beyond),
        "attempts": sum(rest.values()),
        "states": rest,
    }
