"""Shapes of the responses about tasks that wait for a debugger."""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from typing_extensions import TypedDict

from rayscope.api.schemas import Body, ErrorDetail


class LegacySession(TypedDict):
    """What Ray keeps of a task that waits for Ray's legacy debugger, to which `ray debug` attaches.

    ``key``: its name in Ray's internal key-value store. ``title``: of the process. ``address``: at which the
    process waits for `ray debug`. With ``localhost``, that has to run on the node of the process.
    ``gcs_address``: for its option ``--address``. ``traceback``: of the error after which the task stopped,
    None at a breakpoint. ``ended_ns``: when the process ended, None if it runs or that is unknown.
    """

    key: str
    title: str | None
    address: str | None
    gcs_address: str
    traceback: str | None
    ended_ns: int | None


class PausedTask(TypedDict):
    """A task, or a driver, that waits for a debugger or has one attached.

    ``pause_id``: for requests about it. It is None if no debugger can attach through this server: the process
    waits for Ray's legacy debugger (``legacy``), or it has no tracer. Without one, only the GCS says that the
    worker waits, not where or since when.
    ``func_name``: the task's function, ``function``: the Python function in which it waits.
    ``state``: ``waiting`` for a debugger, ``stopped`` by one that is attached, or ``running`` while one is
    attached. ``gone``: its process has ended, but Ray still lists it for its legacy debugger.
    ``error``: the error after which it stopped, None at a breakpoint. ``file`` and ``line``: where.
    ``debugger``: the address of the debugger that is attached, None if there is none. ``release_ns``: when it
    continues unless a debugger is used, None without a limit. ``resources``: what it holds meanwhile.
    ``waiters``: number of tasks that wait for its results.
    """

    pause_id: str | None
    state: Literal["waiting", "stopped", "running", "gone"]
    session: str
    job_id: str | None
    task_id: str | None
    attempt: int | None
    name: str | None
    func_name: str | None
    actor_id: str | None
    worker_id: str
    node_id: str | None
    pid: int | None
    is_driver: bool
    function: str | None
    file: str | None
    line: int | None
    error: str | None
    since_ns: int | None
    release_ns: int | None
    debugger: str | None
    resources: dict[str, float]
    waiters: int
    legacy: LegacySession | None


class PausedTasks(TypedDict):
    """The tasks of a session that wait for a debugger, the longest wait first.

    ``is_enabled``: whether the server lets debuggers in. ``limit_s``: after how long without use a task
    continues, None if the server lets no debuggers in. ``legacy_error``: why it is unknown which tasks wait
    for Ray's legacy debugger. ``legacy_left_out``: number of those that are not listed.
    """

    session: str
    is_enabled: bool
    limit_s: float | None
    legacy_error: ErrorDetail | None
    legacy_left_out: int
    items: list[PausedTask]


class Frame(TypedDict):
    """A Python frame. ``frame_id``: for its variables and source."""

    frame_id: int
    function: str
    file: str | None
    line: int


class StoppedThread(TypedDict):
    """A thread that a debugger has stopped, with its frames, innermost first."""

    name: str
    frames: list[Frame]


class PausedStack(TypedDict):
    """The threads of a paused task's process that are stopped."""

    threads: list[StoppedThread]


class Variable(TypedDict):
    """A variable. ``reference``: for its parts, 0 if it has none."""

    name: str
    value: str
    type: str | None
    reference: int


class Variables(TypedDict):
    """Variables of a frame, or parts of a variable. ``left_out``: how many more there are."""

    items: list[Variable]
    left_out: int


class SourceLines(TypedDict):
    """Lines of the file of a frame, the first of which has the number ``first``."""

    file: str | None
    first: int
    lines: list[str]


class VariablesRequest(Body):
    """Ask for the variables of a frame, or for the parts of a variable."""

    frame_id: int | None = Field(None, ge=0, lt=2**53)
    reference: int | None = Field(None, ge=1, lt=2**53)


class SourceRequest(Body):
    """Ask for the source around the line of a frame."""

    frame_id: int = Field(ge=0, lt=2**53)
