"""The progress of a job or an actor: all its attempts by state and function."""

from __future__ import annotations

from typing import Literal

from rayscope.cluster.jobs import schemas, sql
from rayscope.records.reader import SessionReader
from rayscope.storage.errors import NotFound
from rayscope.storage.sql import entities


def progress_of(
    records: SessionReader, session: str, of: Literal["job", "actor"], entity_id: str
) -> schemas.Progress:
    """The progress of a job or an actor: ``id``, ``attempts``, ``states``, ``stopped_by_libraries`` (included
    in the failed ones), the 100 ``functions`` with the most attempts, and the sums of the ``rest``.

    A submission has the attempts of all its drivers. Raises NotFound if the job or actor is not recorded.
    """
    owner, ids = _owner(records, session, of, entity_id)
    functions, rest = records.read_cached(
        session,
        f"progress of {of} {' '.join(ids)}",
        lambda file: sql.functions_of(file, of, ids, records.last_ns(session)),
    )
    states: dict[str, int] = dict(rest["states"])
    for row in functions:
        for state, number in row["states"].items():
            states[state] = states.get(state, 0) + number
    return {
        "id": owner,
        "attempts": sum(states.values()),
        "states": states,
        "stopped_by_libraries": sum(row["stopped_by_libraries"] for row in [*functions, rest]),
        "functions": functions,
        "rest": rest,
    }


def _owner(
    records: SessionReader, session: str, of: Literal["job", "actor"], entity_id: str
) -> tuple[str, list[str]]:
    """The ID of a job or actor, and the IDs by which attempts refer to it."""
    try:
        known = records.read(session, lambda file: entities.get_entity(file, of, entity_id))
    except NotFound:
        # The tasks of a job may be recorded before the job.
        if of == "job" and entity_id in records.read_cached(session, "tasks by job", sql.tasks_by_job):
            return entity_id, [entity_id]
        raise
    own_id = str(known[f"{of}_id"])
    if not known.get("alias_of"):
        return own_id, [own_id]
    drivers = records.read(session, lambda file: sql.drivers_of(file, own_id))
    alias = str(known["alias_of"])
    return alias, list(dict.fromkeys([alias, *drivers]))
