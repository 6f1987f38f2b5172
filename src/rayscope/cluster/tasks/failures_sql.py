"""Groups failed attempts by signature: function, error type, line, and message without its variable parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from rayscope.cluster.tasks import schemas
from rayscope.cluster.tasks.lost import add_lost_with
from rayscope.storage.errors import BadQuery
from rayscope.storage.rows import join_id
from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql.error_text import TYPE_IN_WORDS, error_parts
from rayscope.storage.sql.execution import END, NOT_DRIVER, function_name
from rayscope.storage.sql.filters import TaskFilters, attempt_filters
from rayscope.storage.sql.library_stops import IS_STOPPED, count_stopped
from rayscope.storage.sql.origins import origins
from rayscope.storage.sql.pages import literal, rows_of

#: Outcomes of the task of a failed attempt, the most severe first: no attempt succeeded, a retry is under
#: way, or a retry succeeded.
OUTCOMES: Sequence[schemas.Outcome] = ("final", "retrying", "recovered")
MAX_GROUPS = 200
#: Maximum number of attempts that are listed per group: those of final failures first, then the newest.
MAX_EXAMPLES = 20
# All regular expressions use RE2's syntax, so the time is linear in the length of the text.
_PLACE = r'File "([^"]+)", line (\d+)'
#: Variable parts of messages: temporary files, IDs and numbers.
_VARIES = (
    r"/(?:tmp|var/folders|dev/shm)/[^\s'\",:;)]*",
    r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b",
    r"\b0x[0-9a-fA-F]+\b",
    r"\b[0-9a-fA-F]{8,}\b",
    # A hyphen after a letter or digit is no sign, as in part-1.csv.
    r"(?:\B-)?\d+(?:[.:]\d+)*(?:[eE][+-]?\d+)?",
)


def _normalized(text: str) -> str:
    """SQL that replaces the variable parts of a string with ``#``."""
    for varies in _VARIES:
        text = f"regexp_replace({text}, {literal(varies)}, '#', 'g')"
    return text


_FAILED = f"""
SELECT task_hi, task_lo, attempt, {function_name("attempts")} AS func_name, error_type, node_id, worker_id,
    actor_id, {END} AS end_ns, unnest({error_parts("error_message", TYPE_IN_WORDS)})
FROM attempts
"""
#: The outcome of each task, which is that of its last attempt.
_OUTCOMES = f"""
SELECT task_hi, task_lo, CASE arg_max(coalesce(state, 'NIL'), attempt)
    WHEN 'FINISHED' THEN 'recovered' WHEN 'FAILED' THEN 'final' WHEN 'CUT_OFF' THEN 'final'
    ELSE 'retrying' END AS outcome
FROM attempts WHERE {NOT_DRIVER} AND task_hi IN (SELECT task_hi FROM failed) GROUP BY task_hi, task_lo
"""
_SIGNED = f"""
SELECT * EXCLUDE (frame), {_normalized("headline")} AS message,
    regexp_extract(frame, {literal(_PLACE)}, ['file', 'line']) AS place
FROM failed
"""
_FILE = r"regexp_extract(place.file, '[^/\\]*$')"
#: The part of the query that follows the CTE ``failed``.
_FAILURES = f"""
outcomes AS ({_OUTCOMES}), signed AS ({_SIGNED})
SELECT s.* EXCLUDE (place), o.outcome, nullif(place.file, '') AS path,
    TRY_CAST(place.line AS BIGINT) AS line, nullif({_FILE}, '') AS file
FROM signed s JOIN outcomes o USING (task_hi, task_lo)
"""
_TASK = "hash(task_hi, task_lo)"
_BY_SIGNATURE = f"""
SELECT func_name, error_type,
    CASE WHEN min(headline) = max(headline) THEN min(headline) ELSE message END AS message,
    file, line, any_value(headline) AS example, any_value(path) AS path,
    count(*) AS attempts, count(DISTINCT {_TASK}) AS tasks,
    {", ".join(f"count(DISTINCT {_TASK}) FILTER (outcome = '{name}') AS {name}" for name in OUTCOMES)},
    min(end_ns) AS first_ns, max(end_ns) AS last_ns, count(*) OVER () AS groups,
    min_by({{'task_hi': task_hi, 'task_lo': task_lo, 'attempt': attempt, 'outcome': outcome, 'end_ns': end_ns,
        'node_id': node_id, 'worker_id': worker_id, 'actor_id': actor_id, 'message': headline,
        'error_type': error_type}},
        {{'outcome': list_position({list(OUTCOMES)}, outcome), 'age': -coalesce(end_ns, 0)}}, {MAX_EXAMPLES}
    ) AS latest
FROM failures WHERE $outcome IS NULL OR outcome = $outcome
GROUP BY func_name, error_type, message, file, line
ORDER BY final > 0 DESC, retrying > 0 DESC, attempts DESC, last_ns DESC, func_name, message
"""


class Failures(NamedTuple):
    """Failures by signature, final ones first, the number of signatures, and the number of all tasks by
    outcome.
    """

    items: list[schemas.FailureGroup]
    total: int
    stopped_by_libraries: int
    tasks: schemas.TasksByOutcome


def _attempt(row: Mapping[str, Any]) -> schemas.FailedAttempt:
    return {
        "task_id": join_id(row["task_hi"], row["task_lo"]) or "",
        "attempt": row["attempt"],
        "outcome": row["outcome"],
        "end_ns": row["end_ns"],
        "node_id": row["node_id"],
        "message": row["message"],
        "lost_with": row["lost_with"],
    }


def failure_groups(
    file: SessionFile,
    filters: TaskFilters,
    outcome: str | None = None,
    limit: int = MAX_GROUPS,
    *,
    stopped: bool = False,
) -> Failures:
    """Failed attempts by signature.

    ``filters``: which attempts to include. ``outcome``: only tasks with this outcome. ``stopped``: include
    attempts that libraries stopped on purpose. They are counted either way. Raises BadQuery.
    """
    if outcome is not None and outcome not in OUTCOMES:
        raise BadQuery(f"Unknown outcome {outcome[:80]!r}.", f"One of: {', '.join(OUTCOMES)}.")
    where = attempt_filters(replace(filters, state="FAILED"))
    with file.reader() as reader:
        stopped_by_libraries = count_stopped(reader, where)
        if not stopped:
            where.add(f"NOT {IS_STOPPED}")
        known = origins(reader)
        reader.execute(
            f"CREATE TEMP TABLE failures AS WITH failed AS MATERIALIZED ({_FAILED}{where.sql}), {_FAILURES}",
            where.values,
        )
        outcomes = dict(
            reader.execute(
                f"SELECT outcome, count(DISTINCT {_TASK}) FROM failures GROUP BY outcome"
            ).fetchall()
        )
        found = rows_of(reader.execute(f"{_BY_SIGNATURE} LIMIT {int(limit)}", {"outcome": outcome}))
        add_lost_with(reader, [attempt for row in found for attempt in row["latest"]])
    groups = found[0]["groups"] if found else 0
    for row in found:
        del row["groups"]
        row["origin"], row["operator"] = known.get(row["func_name"], (None, None))
        row["outcome"] = next(name for name in OUTCOMES if row[name])
        row["latest"] = [_attempt(one) for one in row["latest"]]
    tasks: schemas.TasksByOutcome = {
        "final": outcomes.get("final", 0),
        "retrying": outcomes.get("retrying", 0),
        "recovered": outcomes.get("recovered", 0),
    }
    return Failures(found, groups, stopped_by_libraries, tasks)
