"""How far a job or an actor is: all its attempts by state and function."""

from __future__ import annotations

from typing import Any, Literal

from rayscope.cluster.jobs import sql
from rayscope.records.reader import SessionReader
from rayscope.storage.errors import NotFound
from rayscope.storage.sql import entities


def progress_of(
    records: SessionReader, session: str, of: Literal["job", "actor"], entity_id: str
) -> dict[str, Any]:
    """``id``, ``attempts``, ``states``, ``stopped_by_libraries`` (of the failed ones), the 100 ``functions``
    with most attempts, and the ``rest`` summed up.

    A submission has the attempts of all its drivers. Raises NotFound for what is not on record.
    """
    owner, ids = _owner(records, session, of, entity_id)
    functions, rest = records.read_cached(
        session,
        lambda file: sql.functions_of(file, of, ids, records.last_ns(session)),
        of,
        *ids,
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
    """The id of a job or actor, and those that its attempts have."""
    try:
        known = records.read(session, lambda file: entities.get_entity(file, of, entity_id))
    except NotFound:
        # Its tasks may be told before the job itself is.
        if of == "job" and entity_id in records.read_cached(session, sql.tasks_by_job):
            return entity_id, [entity_id]
        raise
    own_id = str(known[f"{of}_id"])
    if not known.get("alias_of"):
        return own_id, [own_id]
    drivers = records.read(session, lambda file: sql.drivers_of(file, own_id))
    alias = str(known["alias_of"])
    return alias, list(dict.fromkeys([alias, *drivers]))
