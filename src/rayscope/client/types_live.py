"""What the server answers about events, metrics, objects, alerts and logs; units as in ``types``."""

from __future__ import annotations

from typing import TypedDict


class Event(TypedDict):
    """One thing that happened, or ``count`` alike ones until ``last_ns``. Times in ns."""

    time_ns: int
    severity: str
    kind: str
    event: str
    id: str | None
    title: str | None
    message: str | None
    node_id: str | None
    job_id: str | None
    count: int
    last_ns: int | None


class FunctionProgress(TypedDict):
    """A function of a job: its attempts by state, and the sums of their times (ns)."""

    func_name: str | None
    type: str | None
    attempts: int
    duration_ns: int
    waiting_ns: int
    total_ns: int
    states: dict[str, int]


class RestProgress(TypedDict):
    """What functions beyond the first 100 add up to."""

    functions: int
    attempts: int
    states: dict[str, int]


class Progress(TypedDict):
    """All attempts of a job or actor by state, and by function."""

    id: str
    attempts: int
    states: dict[str, int]
    functions: list[FunctionProgress]
    rest: RestProgress


class QueriedSeries(TypedDict):
    """One series of an expression: a value for each of the answer's times."""

    labels: dict[str, str]
    values: list[float | None]


class QueryAnswer(TypedDict):
    """An expression's values from ``from_ns`` to ``to_ns``."""

    session: str
    expr: str
    from_ns: int
    to_ns: int
    step_ns: int
    times_ms: list[int]
    series: list[QueriedSeries]
    left_out: int
    warnings: list[str]
    source: str
    unit: str


class Sums(TypedDict):
    """Objects (each once), the references to them, their bytes as far as known, and objects by type."""

    objects: int
    references: int
    bytes: int
    unknown_size: int
    types: dict[str, int]


class Group(Sums):
    """What has the same ``key`` (null: unknown); of processes also which one it is."""

    key: str | None
    is_put: bool | None
    node_id: str | None
    pid: int | None
    is_driver: bool | None
    actor_id: str | None
    job_id: str | None


class Holder(TypedDict):
    """A process that holds an object."""

    worker_id: str
    node_id: str
    pid: int
    is_driver: bool
    actor_id: str | None
    type: str


class HeldObject(TypedDict):
    """One of the largest objects."""

    object_id: str
    bytes: int | None
    function: str | None
    is_put: bool | None
    age_ns: int | None
    types: list[str]
    call_site: str | None
    holders: list[Holder]
    holders_total: int


class Suspect(Sums):
    """What a process has kept of a function's objects for long."""

    function: str | None
    is_put: bool
    node_id: str
    worker_id: str
    pid: int
    oldest_ns: int


class StoreOfNode(TypedDict):
    """A node's object store."""

    node_id: str
    used_bytes: int | None
    available_bytes: int | None
    primary_bytes: int | None
    fallback_bytes: int | None
    objects: int | None
    spilled_bytes_total: int | None
    restored_bytes_total: int | None
    references: int
    error: str | None
    waiting: bool


class MemoryAnswer(TypedDict):
    """Who holds how much; without ``live`` nothing is known but that.

    ``state`` is ``whole`` or ``being_read``.
    """

    session: str
    live: bool
    time_ns: int | None
    state: str
    nodes_waiting: int
    nodes: list[StoreOfNode]
    references_read: int
    references_total: int
    call_sites: bool
    by: str | None
    totals: Sums | None
    groups: list[Group]
    groups_total: int
    objects: list[HeldObject]
    objects_total: int
    suspects: list[Suspect]


class AckInfo(TypedDict):
    """Who has taken an alert on."""

    by: str
    comment: str
    time_ns: int


class AlertInfo(TypedDict):
    """One alert. Times are 0 where that has not happened; ``silenced_by``: silences that hold for it now."""

    fingerprint: str
    rule: str
    labels: dict[str, str]
    annotations: dict[str, str]
    state: str
    severity: str
    value: float | None
    active_ns: int
    fired_ns: int
    resolved_ns: int
    keep_ns: int
    ack: AckInfo | None
    silenced_by: list[str]


class AlertsAnswer(TypedDict):
    """``live``: false if the session is over; then ``items`` is what fired or was pending at its end."""

    session: str
    live: bool
    evaluated_ns: int | None
    firing: int
    pending: int
    items: list[AlertInfo]
    left_out: int
    resolved: list[AlertInfo]
    resolved_left_out: int


class LogProblem(TypedDict):
    """Why something cannot be had now."""

    code: str
    message: str
    remedy: str


class LogNode(TypedDict):
    """A node. ``files``: how many log files of it are known, None while it was not asked."""

    node_id: str
    state: str | None
    node_ip: str | None
    hostname: str | None
    is_head: bool
    files: int | None
    problem: LogProblem | None


class LogFile(TypedDict):
    """A log file. ``live``: its node lists it now. ``kept``: bytes of it that are kept. ``size``: bytes."""

    node_id: str
    name: str
    kind: str
    worker_id: str | None
    job_id: str | None
    pid: int | None
    submission_id: str | None
    actor_id: str | None
    actor_class: str | None
    size: int | None
    kept: int
    live: bool
    last_ns: int | None


class Keeping(TypedDict):
    """What is kept (``workers``, ``all``, ``none``), bytes that it takes, and why it stands still."""

    mode: str
    bytes: int
    max_bytes: int
    error: dict[str, str] | None


class LogFilesAnswer(TypedDict):
    """Nodes and files. ``total``: files that the filters leave; ``left_out``: those that are not told."""

    session: str
    live: bool
    nodes: list[LogNode]
    files: list[LogFile]
    total: int
    left_out: int
    keeping: Keeping


class LogLine(TypedDict):
    """A line. ``level``: its own or that of the line that it continues. ``is_mark``: Ray's own note."""

    offset: int
    length: int
    text: str
    time_ns: int | None
    level: str | None
    is_mark: bool
    is_cut: bool
    is_whole: bool


class Stretch(TypedDict):
    """Bytes of a file that cannot be had."""

    begin: int
    end: int


class LogPage(TypedDict):
    """Lines of a file. ``next``: ``offset`` of the following page; ``prev``: ``before`` of the one before."""

    session: str
    node_id: str
    name: str
    kind: str
    live: bool
    problem: LogProblem | None
    kept: int
    begin: int
    end: int
    size: int
    next: int
    prev: int | None
    more: bool
    missing: list[Stretch]
    lines: list[LogLine]


class LogPart(TypedDict):
    """A stretch of a file that belongs to what was asked for, and its last lines."""

    node_id: str
    name: str
    stream: str
    begin: int
    end: int | None
    page: LogPage | None
    problem: LogProblem | None


class LogsOfAnswer(TypedDict):
    """The stretches. ``notes``: codes of what is not as one might think. ``left_out``: workers not told."""

    session: str
    live: bool
    parts: list[LogPart]
    notes: list[str]
    left_out: int


class Hit(LogLine):
    """A line that was found."""

    node_id: str
    name: str


class Searched(TypedDict):
    """How much was searched."""

    files: int
    of: int
    bytes: int


class NotSearched(TypedDict):
    """Bytes of a file that were not searched: ``gone``, ``long``, ``stopped`` or ``not_kept``."""

    node_id: str
    name: str
    why: str
    bytes: int


class LogSearchAnswer(TypedDict):
    """Lines that were found, and what was not searched."""

    session: str
    items: list[Hit]
    searched: Searched
    complete: bool
    not_searched: list[NotSearched]
