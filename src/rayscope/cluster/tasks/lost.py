"""Attempts that failed because their worker, actor or node died."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import duckdb

from rayscope.cluster.deaths.find import causes_of, find_deaths
from rayscope.cluster.deaths.schemas import Subject
from rayscope.cluster.logs.files import Logs
from rayscope.cluster.tasks import schemas
from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql.restarts import ENDED_WORKERS

_ERROR_TYPES = ("WORKER_DIED", "OUT_OF_MEMORY", "ACTOR_DIED", "ACTOR_UNAVAILABLE", "NODE_DIED")


def add_lost_with(reader: duckdb.DuckDBPyConnection, attempts: Sequence[dict[str, Any]]) -> None:
    """Add ``lost_with`` to attempts: the worker whose death ended them, or None.

    It is the actor or node if no worker had received the attempt. A call of an actor that restarts is lost
    with the actor's previous worker.

    ``attempts``: with ``error_type``, ``worker_id``, ``actor_id``, ``node_id`` and ``end_ns``.
    """
    for attempt in attempts:
        attempt["lost_with"] = _lost_with(attempt)
    unavailable = [
        attempt
        for attempt in attempts
        if attempt["error_type"] == "ACTOR_UNAVAILABLE" and not attempt["worker_id"] and attempt["actor_id"]
    ]
    if not unavailable:
        return
    actors = list({attempt["actor_id"] for attempt in unavailable})
    ended = reader.execute(ENDED_WORKERS, [actors]).fetchall()
    for attempt in unavailable:
        before = [
            worker
            for actor, time_ns, worker in ended
            if actor == attempt["actor_id"] and time_ns <= (attempt["end_ns"] or 0)
        ]
        attempt["lost_with"] = {"kind": "worker", "id": before[-1]} if before else None


def _lost_with(attempt: Mapping[str, Any]) -> schemas.LostWith | None:
    if attempt["error_type"] not in _ERROR_TYPES:
        return None
    if attempt["worker_id"]:
        return {"kind": "worker", "id": attempt["worker_id"]}
    if attempt["actor_id"]:
        return {"kind": "actor", "id": attempt["actor_id"]}
    return {"kind": "node", "id": attempt["node_id"]} if attempt["node_id"] else None


def add_causes(file: SessionFile, logs: Logs, session: str, groups: Sequence[schemas.FailureGroup]) -> None:
    """Add to each group of failures the causes of the death that its newest attempt was lost with."""
    subjects = [_subject(group["latest"][0]["lost_with"]) if group["latest"] else None for group in groups]
    deaths = find_deaths(file, logs, session, filter(None, subjects))
    for group, subject in zip(groups, subjects, strict=True):
        group["causes"] = causes_of(deaths.get(subject)) if subject is not None else []


def _subject(lost: schemas.LostWith | None) -> tuple[Subject, str] | None:
    return (lost["kind"], lost["id"]) if lost is not None else None
