"""Attempts that failed because their worker, actor or node died."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rayscope.cluster.deaths.find import causes_of, find_deaths
from rayscope.cluster.deaths.schemas import Subject
from rayscope.cluster.logs.files import Logs
from rayscope.cluster.tasks import schemas
from rayscope.storage.session_file import SessionFile

_ERROR_TYPES = ("WORKER_DIED", "OUT_OF_MEMORY", "ACTOR_DIED", "ACTOR_UNAVAILABLE", "NODE_DIED")


def lost_with(error_type: str | None, row: Mapping[str, Any]) -> schemas.LostWith | None:
    """The worker whose death ended an attempt, or its actor or node if no worker had received it.

    ``row``: its ``worker_id``, ``actor_id`` and ``node_id``.
    """
    if error_type not in _ERROR_TYPES:
        return None
    if row["worker_id"]:
        return {"kind": "worker", "id": row["worker_id"]}
    if row["actor_id"]:
        return {"kind": "actor", "id": row["actor_id"]}
    return {"kind": "node", "id": row["node_id"]} if row["node_id"] else None


def add_causes(file: SessionFile, logs: Logs, session: str, groups: Sequence[schemas.FailureGroup]) -> None:
    """Add to each group of failures the causes of the death that its newest attempt was lost with."""
    subjects = [_subject(group["latest"][0]["lost_with"]) if group["latest"] else None for group in groups]
    deaths = find_deaths(file, logs, session, filter(None, subjects))
    for group, subject in zip(groups, subjects, strict=True):
        group["causes"] = causes_of(deaths.get(subject)) if subject is not None else []


def _subject(lost: schemas.LostWith | None) -> tuple[Subject, str] | None:
    return (lost["kind"], lost["id"]) if lost is not None else None
