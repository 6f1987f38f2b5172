"""Finds the causes of several deaths."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from rayscope.cluster.deaths.compute import death_of
from rayscope.cluster.deaths.schemas import Death, DeathLink, Subject
from rayscope.cluster.deaths.sql import facts_about
from rayscope.cluster.logs.crash_reports import last_lines, logged_crashes
from rayscope.cluster.logs.files import Logs
from rayscope.storage.session_file import SessionFile


def find_deaths(
    file: SessionFile, logs: Logs, session: str, subjects: Iterable[tuple[Subject, str]]
) -> dict[tuple[Subject, str], Death]:
    """The deaths of those ``subjects`` (kind and ID) that have ended."""
    ids: Mapping[Subject, list[str]] = defaultdict(list)
    for kind, identity in subjects:
        ids[kind].append(identity)
    crashes = {worker: crash.report for worker, crash in logged_crashes(logs, session).items()} if ids else {}
    found: dict[tuple[Subject, str], Death] = {}
    for kind, of_kind in ids.items():
        facts = facts_about(file, kind, of_kind)
        facts.crashes = crashes
        for job in facts.jobs.values():
            if job["exit_code"]:
                driver = {"worker_type": "DRIVER", "job_id": job["id"], "node_id": job["driver_node_id"]}
                facts.last_lines[job["id"]] = last_lines(logs, session, driver, None)
        for identity in of_kind:
            death = death_of(facts, kind, identity)
            if death is not None:
                found[kind, identity] = death
    return found


def causes_of(death: Death | None) -> list[DeathLink]:
    """The links that say more than that a process died, or an empty list if the cause is not known."""
    if death is None or death["cause"] == "unknown":
        return []
    return [one for one in death["chain"] if one["code"] not in ("worker_died", "driver_died")]
