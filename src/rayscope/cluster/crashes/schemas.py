"""The shape of the answer about crashed workers."""

from __future__ import annotations

from typing import Literal

from rayscope.api.schemas import Answer


class CrashHarm(Answer):
    """Whether a crash did harm; docs/reference/faults.md explains ``code``. ``number``: of what it counts."""

    harm: Literal["none", "harmed", "unknown"]
    code: str
    number: int
    message: str


class CrashedWorker(Answer):
    """A worker or driver that crashed: what it was, how Ray says it ended, and what its log says.

    ``function``: the last one that it ran. ``script``: that of its job. ``signal``, ``reason``, ``file``,
    ``offset``: of the crash report in its log, None without one. ``is_race``: it is the race of Ray's
    processes at their end. ``lines``: the last ones of its log, or those around the report.
    """

    worker_id: str
    worker_type: str | None
    node_id: str | None
    pid: int | None
    job_id: str | None
    actor_id: str | None
    actor_class: str | None
    actor_name: str | None
    function: str | None
    script: str | None
    exit_type: str | None
    exit_detail: str | None
    end_ns: int | None
    signal: str | None
    reason: str | None
    is_race: bool
    harm: CrashHarm
    file: str | None
    offset: int | None
    lines: list[str]


class CrashesAnswer(Answer):
    """Workers that crashed, newest first. ``workers``: all of the session. ``left_out``: not listed."""

    session: str
    workers: int
    total: int
    harmed: int
    unknown: int
    in_race: int
    left_out: int
    items: list[CrashedWorker]
