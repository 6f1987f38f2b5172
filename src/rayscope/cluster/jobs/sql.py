"""Queries the progress of jobs: all their attempts by state, and by function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from rayscope.cluster.jobs import schemas
from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql.execution import NOT_DRIVER, function_name, total, with_times
from rayscope.storage.sql.library_stops import stopped_by
from rayscope.storage.sql.pages import Where, rows_of

#: Maximum number of functions that are listed individually.
MAX_FUNCTIONS = 100
_COLUMNS = {"job": "job_id", "actor": "actor_id"}


def tasks_by_job(file: SessionFile) -> dict[str, dict[str, int]]:
    """The number of attempts by job ID and state."""
    with file.reader() as reader:
        found = reader.execute(
            f"SELECT job_id, coalesce(state, 'NIL'), count(*) FROM attempts WHERE {NOT_DRIVER} "
            "AND job_id IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2"
        ).fetchall()
    jobs: dict[str, dict[str, int]] = {}
    for job_id, state, number in found:
        jobs.setdefault(job_id, {})[state] = number
    return jobs


def stopped_by_job(file: SessionFile) -> dict[str | None, int]:
    """The number of failed attempts of libraries' internals that were stopped on purpose, by job ID."""
    with file.reader() as reader:
        return stopped_by(reader, "job_id", Where([NOT_DRIVER], []))


def drivers_of(file: SessionFile, submission_id: str) -> list[str]:
    """The IDs of the jobs of the drivers that a submission started, in order of their start."""
    with file.reader() as reader:
        rows = reader.execute(
            "SELECT id FROM job_rows WHERE submission_id = ? AND alias_of IS NULL ORDER BY start_ns, id",
            [submission_id],
        ).fetchall()
    return [row[0] for row in rows]


def functions_of(
    file: SessionFile, of: Literal["job", "actor"], ids: Sequence[str], last_ns: int
) -> tuple[list[schemas.FunctionProgress], schemas.RestProgress]:
    """The functions of these jobs or this actor with the most attempts, and the sums over all other
    functions.

    Each function has ``func_name``, ``type``, ``attempts``, ``states`` (state -> attempts), and the sums of
    the times (ns) that docs/reference/glossary.md defines. ``stopped_by_libraries``: the number of failed
    attempts that a library stopped on purpose. The rest has ``functions``, ``attempts``, ``states`` and
    ``stopped_by_libraries`` of all functions beyond the first 100. ``last_ns``: the end that is assumed for
    running attempts.
    """
    sums = ", ".join(f"{total(name)} AS {name}_ns" for name in ("duration", "waiting", "total"))
    with file.reader() as reader:
        found: list[schemas.FunctionProgress] = rows_of(
            reader.execute(
                f"""
                WITH counted AS (
                    SELECT func_name, any_value(type) AS type, state, count(*) AS n, {sums}
                    FROM ({with_times(last_ns)} WHERE list_contains(?, {_COLUMNS[of]}) AND {NOT_DRIVER})
                    GROUP BY func_name, state)
                SELECT func_name, any_value(type) AS type, sum(n)::BIGINT AS attempts,
                    {total("duration_ns")} AS duration_ns, {total("waiting_ns")} AS waiting_ns,
                    {total("total_ns")} AS total_ns,
                    map(list(state ORDER BY state), list(n ORDER BY state)) AS states
                FROM counted GROUP BY func_name ORDER BY attempts DESC, func_name NULLS LAST
                """,
                [list(ids)],
            )
        )
        failed = any("FAILED" in row["states"] for row in found)
        where = Where([f"list_contains(?, {_COLUMNS[of]})", NOT_DRIVER], [list(ids)])
        stopped = stopped_by(reader, function_name("attempts"), where) if failed else {}
    for row in found:
        row["stopped_by_libraries"] = stopped.get(row["func_name"], 0)
    rest: dict[str, int] = {}
    for row in found[MAX_FUNCTIONS:]:
        for state, number in row["states"].items():
            rest[state] = rest.get(state, 0) + number
    beyond = len(found) - MAX_FUNCTIONS
    return found[:MAX_FUNCTIONS], {
        "functions": max(0, beyond),
        "attempts": sum(rest.values()),
        "states": rest,
        "stopped_by_libraries": sum(row["stopped_by_libraries"] for row in found[MAX_FUNCTIONS:]),
    }
