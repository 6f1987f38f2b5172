"""Schemas of answers about runs. Times are in ns, memory in bytes. Null: unknown."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypedDict

from rayscope.api.schemas import Body

RunVerdict = Literal["slower", "as_usual", "faster", "unknown"]
#: Why a verdict is unknown.
UnknownReason = Literal["few_runs", "outcome", "left_out", "no_script", "no_duration"]


class UsualRange(TypedDict):
    """The geometric mean of ``runs`` earlier runs, and the range in which an equal run lies with a
    probability of 99 %.
    """

    runs: int
    mid_ns: int
    low_ns: int
    high_ns: int


class RunItem(TypedDict):
    """A run: a job of a session that has ended. It outlives the record of the session.

    ``script``: the script of its command, '' if unknown. ``variant``: its tags with an equals sign, joined by
    commas. Runs with the same script and variant are a group. ``name``: its script with arguments.
    ``has_record``: whether the record of the session still exists. ``failed``: failed attempts, without those
    that a library stopped on purpose. ``cpu_ns``: CPU time of its tasks. ``gpu_ns``: the time for which its
    tasks and actors held GPUs, multiplied by their number. ``dropped``: reports that the record lacks.

    ``verdict``: its duration against ``usual``. ``ratio``: its duration by the usual one. ``reason``: why the
    verdict is unknown. ``comparable``: the number of earlier runs that could count as usual.
    """

    session: str
    job_id: str
    script: str
    variant: str
    name: str
    tags: list[str]
    metadata: dict[str, str]
    baseline: bool
    left_out: bool
    cluster: str | None
    nodes: int
    begin_ns: int | None
    end_ns: int | None
    duration_ns: int | None
    outcome: str
    tasks: int
    attempts: int
    failed: int
    cpu_ns: int | None
    gpu_ns: int | None
    peak_memory: int | None
    ray_version: str | None
    git_commit: str | None
    traced: bool
    recording: str
    dropped: int
    has_record: bool
    verdict: RunVerdict
    reason: UnknownReason | None
    ratio: float | None
    usual: UsualRange | None
    comparable: int


class RunGroup(TypedDict):
    """The runs with one script and variant. ``newest_ns``: when the newest one began."""

    script: str
    variant: str
    runs: int
    newest_ns: int | None


class RunPage(TypedDict):
    """A page of runs. ``groups``: all groups among the matching runs, those with the most runs first, 200 at
    most. ``pending``: ended sessions whose runs are not summarized yet.
    """

    items: list[RunItem]
    next: str | None
    total: int
    groups: list[RunGroup]
    pending: int


class RunFunction(TypedDict):
    """A function in a run. Its times are those of execution without waits."""

    name: str
    module: str | None
    attempts: int
    failed: int
    mean_ns: int | None
    p50_ns: int | None
    p95_ns: int | None
    total_ns: int
    cpu_ns: int | None


class RunAnswer(TypedDict):
    """A run with its functions, those with the most time first."""

    run: RunItem
    functions: list[RunFunction]
    functions_left_out: int


class TrendPoint(TypedDict):
    """A run in a trend. ``value_ns``: its duration, or the mean time of the function. ``counts``: whether it
    decides what is usual. ``has_record``: whether the record of the session still exists.
    """

    session: str
    job_id: str
    has_record: bool
    name: str
    begin_ns: int | None
    value_ns: int | None
    counts: bool
    outcome: str
    tags: list[str]
    git_commit: str | None
    baseline: bool
    verdict: RunVerdict
    ratio: float | None


class TrendChange(TypedDict):
    """A change of level: the first run after it, and the geometric means before and after. ``p``: the
    probability of such a step between equal runs. ``has_record``: as in the points.
    """

    session: str
    job_id: str
    has_record: bool
    begin_ns: int | None
    git_commit: str | None
    before_ns: int
    after_ns: int
    ratio: float
    p: float


class FunctionTrend(TypedDict):
    """The mean times of a function in the runs of a trend, null in a run without it."""

    name: str
    total_ns: int
    values_ns: list[int | None]
    changes: list[TrendChange]


class TrendAnswer(TypedDict):
    """The trend of a group, the oldest run first. ``usual``: the range by which the next run
    is judged.

    ``baseline_ns``: the value of the baseline, null if there is none. ``functions``: those that changed
    first, then those with the most time. ``runs_left_out``: older runs that are not part of the answer.
    """

    script: str
    variant: str
    function: str | None
    points: list[TrendPoint]
    runs_left_out: int
    usual: UsualRange | None
    changes: list[TrendChange]
    baseline_ns: int | None
    functions: list[FunctionTrend]


class RunMarks(Body):
    """Marks of a run that an operator sets. Omitted fields stay unchanged."""

    tags: list[Annotated[str, Field(max_length=40)]] | None = Field(
        None, max_length=20, description="Replace those of the session."
    )
    baseline: bool | None = Field(None, description="Compare the other runs of its group with it.")
    left_out: bool | None = Field(None, description="Do not compare other runs with it.")
