"""The schemas of insights and what-if. Durations are in ns; IDs are hex strings."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypedDict

from rayscope.api.schemas import Body
from rayscope.views.critical_path.schemas import PathActor, PathCause

Bottleneck = Literal[
    "driver",
    "actor",
    "actors",
    "cluster",
    "function",
    "awaiting",
    "waiting_args",
    "waiting_node",
    "starting_worker",
    "queued",
    "loading",
    "fetching",
    "storing",
    "blocked",
    "retrying",
    "preparing",
    "finishing",
    "unknown",
]
RemedyKind = Literal["finding", "function", "option"]
GainOption = Literal["no_startup", "no_stragglers", "no_retries", "no_transfer", "twice_the_cpus"]
FindingSeverity = Literal["critical", "warning", "info"]
FindingConfidence = Literal["high", "medium", "low"]
FindingNumber = int | float | str
ReplayPhase = Literal["executing", "waiting", "starting"]


class Saving(TypedDict):
    """The predicted saving of a change, and the range that contains it in 9 of 10 cases."""

    saving_ns: int
    saving_low_ns: int
    saving_high_ns: int


class SavingIfKnown(TypedDict):
    """Like Saving, but null if nothing is predicted."""

    saving_ns: int | None
    saving_low_ns: int | None
    saving_high_ns: int | None


class Calibration(TypedDict):
    """How long the job took, how long its unchanged replay takes, and the relative difference.

    ``ray_ns``: how much longer the job takes if Ray itself needs twice as long for its own work; null if
    nothing is predicted.
    """

    recorded_ns: int
    replayed_ns: int | None
    error: float | None
    ray_ns: int | None


class Withheld(TypedDict):
    """Why nothing is predicted."""

    code: Literal["inaccurate", "no_driver", "not_traced", "stuck", "takes_long", "too_large"]
    message: str


class JobAnswer(TypedDict):
    """The common fields of the answers about a job."""

    session: str
    job_id: str
    attempts: int
    so_far: bool
    end_ns: int
    calibration: Calibration
    withheld: Withheld | None


class NotRecorded(TypedDict):
    """A reason why the record of a job is incomplete. ``events``: the number of events dropped during the
    job; null if the reason is that there was no tracer.
    """

    code: Literal["tracer_off", "dropped"]
    events: int | None
    message: str


class ProgressAnswer(TypedDict):
    """``share``: the share of a job's answer that is finished, 0 to 1; null if no long-running request
    computes it.
    """

    share: float | None


class Verdict(SavingIfKnown):
    """The largest cause of the job's duration, and what would help most.

    ``code``: ``driver``, ``actor`` (a method kept its actor busy while calls waited), ``actors`` (a method
    kept several actors busy while calls waited, and no single actor took most of the time), ``cluster`` (a
    function kept the CPUs busy while tasks waited), ``function``, or the phase that took the most time
    (``preparing``: the driver before the first task; ``finishing``: the driver after the last task).
    ``name``: the function, "" if unknown. ``total_ns``: the time of the cause, or of ``actor`` if that actor
    took more than half of it. ``remedy``: a finding by its kind and place (function or class of actors), a
    function at half its time, or an option; null if nothing would save at least 1 % of the job's time. The
    saving is null for a finding whose saving no replay can predict. ``actor``: the actor that took most of
    the time, if ``name`` is a method.
    """

    code: Bottleneck
    name: str
    total_ns: int
    share: float
    remedy: RemedyKind | None
    remedy_name: str | None
    remedy_place: str | None
    text: str
    actor: PathActor | None


class FunctionGain(Saving):
    """The job's gain if a function took half the time.

    ``own_ns``: how long its attempts executed. ``origin``: ``user``, a library's name, or null if unknown.
    """

    function: str
    origin: str | None
    is_driver: bool
    attempts: int
    own_ns: int
    predicted_ns: int
    share: float


class OptionGain(Saving):
    """The job's gain from an option that is not about a single function."""

    option: GainOption
    predicted_ns: int
    share: float


class FindingItem(SavingIfKnown):
    """Something that slows the job down or puts it at risk, and what to do about it.

    ``saving_ns`` is predicted by a replay, null if that is impossible; ``cost_ns`` is the maximum cost.
    ``share``: the saving, or else the cost, as a share of the job's time. ``is_risk``: it costs less than 1 %
    of that time, but may cause trouble later. ``on_path_ns``: the time of its attempts on the critical path
    (0: nothing waits for them), null if that does not matter. ``function`` or ``actor_class``: the code that
    it is about; ``origin``: ``user``, a library's name, or null if unknown; ``caller``: the function in which
    it happens, "" for the driver. ``numbers``: the evidence (names ending in ``_ns`` are durations).
    ``sketch``: code that fixes it. ``doc``: the title of a page in Ray's documentation, or "". ``filters``:
    filters for the list of tasks.
    """

    kind: str
    title: str
    severity: FindingSeverity
    share: float
    cost_ns: int
    is_risk: bool
    on_path_ns: int | None
    confidence: FindingConfidence
    function: str | None
    actor_class: str | None
    caller: str | None
    origin: str | None
    numbers: dict[str, FindingNumber]
    advice: str
    sketch: str
    doc: str
    filters: dict[str, str]


class SilentDetector(TypedDict):
    """A detector that was skipped for this job, and why."""

    kind: str
    message: str


class ExplainedCause(PathCause):
    """A part of the critical path. ``text``: an explanation and advice, "" below 15 % of the path."""

    text: str


class InsightsAnswer(JobAnswer):
    """The causes of a job's duration and the changes that would make it faster, the largest savings first.

    ``findings``: those that cost at least 1 % of the job's time, and risks, which come last. ``silent``:
    detectors that had too little data or failed. ``not_recorded``: what is missing from the record, which may
    hide findings. ``causes``: the job's time, divided into the causes on its critical path. ``verdict``: the
    main cause and the best remedy, in one sentence. ``functions``: of the ``functions_total`` functions,
    those that take the most time. ``so_far``: the job is still running. ``end_ns``: when it ended, or the
    time of this answer.
    """

    not_recorded: list[NotRecorded]
    verdict: Verdict | None
    causes: list[ExplainedCause]
    utilisation: float | None
    findings: list[FindingItem]
    silent: list[SilentDetector]
    functions: list[FunctionGain]
    functions_total: int
    options: list[OptionGain]


class PathStretch(TypedDict):
    """A stretch of the critical path of a replay. ``begin_ns``: its start, as time since the job began."""

    task_id: str | None
    attempt: int | None
    function: str
    is_driver: bool
    phase: ReplayPhase
    begin_ns: int
    duration_ns: int


class FunctionOnPath(TypedDict):
    """A function's share of the critical path of a replay."""

    function: str
    is_driver: bool
    total_ns: int
    by_phase: dict[str, int]
    share: float


class WhatIfAnswer(SavingIfKnown, JobAnswer):
    """The predicted duration of a job with changes. ``baseline_ns``: how long it took until ``end_ns``.

    ``path``: the longest stretches of the new critical path in chronological order; ``functions``: the whole
    path by function.
    """

    baseline_ns: int
    predicted_ns: int | None
    speedup: float | None
    utilisation_before: float | None
    utilisation: float | None
    path: list[PathStretch]
    functions: list[FunctionOnPath]


_Name = Annotated[str, Field(min_length=1, max_length=500)]


class SpeedChange(TypedDict):
    """A function runs ``times`` times as fast; below 1, it is slower. ``driver`` stands for the driver."""

    kind: Literal["speed"]
    function: _Name
    times: Annotated[float, Field(ge=0.001, le=1000, allow_inf_nan=False)]


class CpusChange(TypedDict):
    """The largest node has ``count`` more CPUs."""

    kind: Literal["cpus"]
    count: Annotated[int, Field(ge=1, le=100_000)]


class NodesChange(TypedDict):
    """The cluster has ``count`` more nodes like the last one."""

    kind: Literal["nodes"]
    count: Annotated[int, Field(ge=1, le=1000)]


class ActorsChange(TypedDict):
    """A class of actors has ``count`` more actors, which share its calls."""

    kind: Literal["actors"]
    class_name: _Name
    count: Annotated[int, Field(ge=1, le=1000)]


class PlainChange(TypedDict):
    """No attempt takes longer than usual for its function, or no time is spent on starting workers, on
    fetching values, or on failed attempts that were retried.
    """

    kind: Literal["no_stragglers", "no_startup", "no_transfer", "no_retries"]


class NumCpusChange(TypedDict):
    """A function or a class of actors requests ``num_cpus`` CPUs."""

    kind: Literal["num_cpus"]
    function: _Name
    num_cpus: Annotated[float, Field(ge=0, le=100_000, allow_inf_nan=False)]


class OneGetChange(TypedDict):
    """Loops that get the values of a function one by one get all of them at once."""

    kind: Literal["one_get"]
    function: _Name


class BatchChange(TypedDict):
    """Each call of a function does the work of ``size`` calls."""

    kind: Literal["batch"]
    function: _Name
    size: Annotated[int, Field(ge=2, le=100_000)]


Changes = Annotated[
    SpeedChange
    | CpusChange
    | NodesChange
    | ActorsChange
    | PlainChange
    | NumCpusChange
    | OneGetChange
    | BatchChange,
    Field(discriminator="kind"),
]


class WhatIfBody(Body, extra="forbid"):
    """Changes to replay together, in a job of a session (default: the longest job that ran tasks)."""

    session: str | None = Field(None, max_length=200)
    job_id: str | None = Field(None, max_length=200)
    changes: list[Changes] = Field(min_length=1, max_length=20)
