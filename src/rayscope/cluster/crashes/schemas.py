"""Schemas of the answer about crashed workers."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from rayscope.cluster.deaths.schemas import Death


class CrashHarm(TypedDict):
    """Whether a crash did harm. ``code``: explained in docs/reference/faults.md. ``number``: the count that
    the code refers to.
    """

    harm: Literal["none", "harmed", "unknown"]
    code: str
    number: int
    message: str


class CrashedWorker(TypedDict):
    """A worker or driver that crashed: what it did, how it ended according to Ray, and its log.

    ``function``: the last function that it ran. ``script``: its job's script. ``signal``, ``reason``,
    ``file``, ``offset``: from the crash report in its log, None if there is no report. ``is_race``: the crash
    is a known race condition in Ray's processes when they end. ``lines``: the last lines of its log, or those
    around the report. ``death``: why it ended, None until Ray has reported its end.
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
    death: Death | None


class CrashesAnswer(TypedDict):
    """Crashed workers, newest first. ``workers``: how many workers the session had. ``left_out``: how many
    crashed workers are not listed.
    """

    session: str
    workers: int
    total: int
    harmed: int
    unknown: int
    in_race: int
    left_out: int
    items: list[CrashedWorker]
