"""Schemas of the answer about deaths."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

Subject = Literal["worker", "actor", "node", "job"]
#: The source of a fact. ``ray``: Ray's tables and events; ``kernel``: the exit status of the process;
#: ``kernel_log``: a record of the OOM killer; ``oom_counter``: the memory cgroup's counter of OOM kills;
#: ``log``: a crash report in the process's log; ``program``: the exit status that ``rayscope run`` or
#: Ray's job API saw; ``platform``: an event of Kubernetes.
Source = Literal["ray", "kernel", "kernel_log", "oom_counter", "log", "program", "platform"]


class DeathSubject(TypedDict):
    """A worker, actor, node or job that ended."""

    kind: Subject
    id: str


class DeathLink(TypedDict):
    """A step from a death to its cause. ``kind``, ``id``: what ``message`` is about.

    ``code``: explained in docs/reference/deaths.md. ``params``: the values in ``message``.
    """

    code: str
    kind: Subject
    id: str
    params: dict[str, str | int]
    message: str
    source: Source
    time_ns: int | None


class DeathText(TypedDict):
    """A cause that the record does not rule out, or what would tell such causes apart."""

    code: str
    message: str


class ProcessEnd(TypedDict):
    """The end of a process, and the last measurements before it, in bytes.

    ``source``: what knew its exit status (``none``: nothing). ``memory_available``, ``memory_total``: the
    node's. ``cgroup_used``, ``cgroup_limit``: those of the memory cgroup. ``oom_kills``: how many processes
    of the cgroup the kernel killed at that time. ``disk_free``: in Ray's folder. ``fds``: open files.
    """

    exit_code: int | None
    signal: str | None
    source: str | None
    end_ns: int | None
    rss_bytes: int | None
    memory_available: int | None
    memory_total: int | None
    cgroup_limit: int | None
    cgroup_used: int | None
    oom_kills: int | None
    kernel_record: str | None
    disk_free: int | None
    fds: int | None


class Death(TypedDict):
    """Why a worker, actor, node or job ended.

    ``cause``: the code of the last link of ``chain``, or ``unknown``. Then ``candidates`` are the causes that
    are possible, and ``missing`` says what would tell them apart. ``is_expected``: it was meant to end.
    ``process``: what the node's agent saw of the process at the end of the chain. ``memory_bytes``: its size
    when Ray's memory monitor killed it, as Ray reports it. ``ray``: Ray's own text.
    """

    kind: Subject
    id: str
    end_ns: int | None
    cause: str
    is_expected: bool
    chain: list[DeathLink]
    candidates: list[DeathText]
    missing: DeathText | None
    process: ProcessEnd | None
    memory_bytes: int | None
    ray: str | None


class DeathsAnswer(TypedDict):
    """Deaths, the newest first. ``left_out``: how many of the kind are not listed."""

    session: str
    total: int
    left_out: int
    items: list[Death]
