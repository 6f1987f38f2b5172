"""What the insights answer and are asked. Durations are ns; ids are hex texts."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from rayscope.api.schemas import Answer, Body
from rayscope.views.critical_path.schemas import PathActor, PathCause


class Saving(Answer):
    """The predicted saving of a change, and the range that holds in 9 of 10 cases."""

    saving_ns: int
    saving_low_ns: int
    saving_high_ns: int


class SavingIfKnown(Answer):
    """The same, null where nothing is predicted."""

    saving_ns: int | None
    saving_low_ns: int | None
    saving_high_ns: int | None


class Calibration(Answer):
    """How long the job took, how long its replay takes unchanged, and by how much of it they differ.

    ``ray_ns``: how much longer it takes if Ray needs twice the time for its own part; null if nothing is
    predicted.
    """

    recorded_ns: int
    replayed_ns: int | None
    error: float | None
    ray_ns: int | None


class Withheld(Answer):
    """Why nothing is predicted."""

    code: Literal["inaccurate", "no_driver", "not_traced", "stuck", "takes_long", "too_large"]
    message: str


class NotRecorded(Answer):
    """Why the record of a job is incomplete. ``events``: how many were dropped while it ran, null without a
    tracer.
    """

    code: Literal["tracer_off", "dropped"]
    events: int | None
    message: str


class ProgressAnswer(Answer):
    """``share``: how much of a job's answer is done, 0 to 1; null if nobody makes one that takes long."""

    share: float | None


class Verdict(SavingIfKnown):
    """What bound a job, the largest of its causes, and what would help most.

    ``code``: ``driver``, ``actor`` (a method kept its actor busy while calls waited), ``cluster`` (a function
    kept the CPUs busy while tasks waited), ``function``, or the phase in which most time passed
    (``preparing``: the driver before the first task; ``finishing``: after the last). ``name``: of
    the function, "" if it is not known. ``remedy``: a finding by its kind and place (function or class of
    actors), a function at half its time, or an option; null if nothing would save 1 %. ``actor``: the one in
    which most of the time is, if ``name`` is a method.
    """

    code: Literal[
        "driver",
        "actor",
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
    name: str
    total_ns: int
    share: float
    remedy: Literal["finding", "function", "option"] | None
    remedy_name: str | None
    remedy_place: str | None
    text: str
    actor: PathActor | None


class FunctionGain(Saving):
    """What the job would gain if a function took half the time. ``own_ns``: what its attempts computed.
    ``origin``: whose it is: ``user``, a library's name, or null if it is not known.
    """

    function: str
    origin: str | None
    is_driver: bool
    attempts: int
    own_ns: int
    predicted_ns: int
    share: float


class OptionGain(Saving):
    """What the job would gain by something else."""

    option: Literal["no_startup", "no_stragglers", "no_retries", "no_transfer", "twice_the_cpus"]
    predicted_ns: int
    share: float


class FindingItem(SavingIfKnown):
    """Something that slows the job down or puts it at risk, and what to do about it.

    ``saving_ns`` is predicted by the replay, null where that cannot tell; ``cost_ns`` is what it costs at
    most. ``share`` is the saving, or else the cost, of the job's time. ``is_risk``: it costs less than 1 %
    of that, and is told because of what may come of it. ``on_path_ns``: how long the critical path leads
    through the attempts that it is about (0: nothing waits for them), null where that does not count.
    ``function`` or ``actor_class``: where; ``origin``:
    whose it is, ``user``, a library's name, or null; ``caller``: the function in which it happens, "" in the
    driver. ``numbers``: the evidence (``_ns`` are durations). ``sketch``: code. ``doc``: Ray's page about it.
    ``filters``: of the list of tasks.
    """

    kind: str
    title: str
    severity: Literal["critical", "warning", "info"]
    share: float
    cost_ns: int
    is_risk: bool
    on_path_ns: int | None
    confidence: Literal["high", "medium", "low"]
    function: str | None
    actor_class: str | None
    caller: str | None
    origin: str | None
    numbers: dict[str, int | float | str]
    advice: str
    sketch: str
    doc: str
    filters: dict[str, str]


class SilentDetector(Answer):
    """A detector that could not say anything about the job, and why."""

    kind: str
    message: str


class ExplainedCause(PathCause):
    """A part of the critical path. ``text``: what it is and how to learn more, "" below 15 % of the path."""

    text: str


class InsightsAnswer(Answer):
    """What slows a job down, and what would make it faster, by how much: the largest savings first.

    ``findings`` weigh at least 1 % of the job's time, or are risks, which come last; ``silent``: detectors
    that had not enough data; ``not_recorded``: what is missing from the record, so that no finding may mean
    that nobody knows. ``causes``: the whole of the job's time, as its critical path has it;
    ``verdict``: the same in one sentence, with what would help most. ``functions`` are those of
    ``functions_total`` that take the most time. ``so_far``: the job runs still. ``end_ns``: when it ended, or
    the time of this answer.
    """

    session: str
    job_id: str
    attempts: int
    so_far: bool
    end_ns: int
    calibration: Calibration
    withheld: Withheld | None
    not_recorded: list[NotRecorded]
    verdict: Verdict | None
    causes: list[ExplainedCause]
    utilisation: float | None
    findings: list[FindingItem]
    silent: list[SilentDetector]
    functions: list[FunctionGain]
    functions_total: int
    options: list[OptionGain]


class PathStretch(Answer):
    """A stretch of the critical path of a replay; ``begin_ns`` is since the begin of the job."""

    task_id: str | None
    attempt: int | None
    function: str
    is_driver: bool
    phase: Literal["executing", "waiting", "starting"]
    begin_ns: int
    duration_ns: int


class FunctionOnPath(Answer):
    """What of the critical path of a replay is one function's."""

    function: str
    is_driver: bool
    total_ns: int
    by_phase: dict[str, int]
    share: float


class WhatIfAnswer(SavingIfKnown):
    """What a job would take with changes: ``baseline_ns`` is what it took until ``end_ns``.

    ``path``: the longest stretches of the new critical path in the order of time; ``functions``: all of it.
    """

    session: str
    job_id: str
    attempts: int
    so_far: bool
    end_ns: int
    calibration: Calibration
    withheld: Withheld | None
    baseline_ns: int
    predicted_ns: int | None
    speedup: float | None
    utilisation_before: float | None
    utilisation: float | None
    path: list[PathStretch]
    functions: list[FunctionOnPath]


_Name = Annotated[str, Field(min_length=1, max_length=500)]


class _Change(Body, extra="forbid"):
    pass


class SpeedChange(_Change):
    """A function computes ``times`` as fast; below 1 it is slower. ``driver`` is the driver."""

    kind: Literal["speed"]
    function: _Name
    times: float = Field(ge=0.001, le=1000, allow_inf_nan=False)


class CpusChange(_Change):
    """The largest node has so many more CPUs."""

    kind: Literal["cpus"]
    count: int = Field(ge=1, le=100_000)


class NodesChange(_Change):
    """So many more nodes like the last one."""

    kind: Literal["nodes"]
    count: int = Field(ge=1, le=1000)


class ActorsChange(_Change):
    """So many more actors of a class, which share its calls."""

    kind: Literal["actors"]
    class_name: _Name
    count: int = Field(ge=1, le=1000)


class PlainChange(_Change):
    """No attempt takes longer than is usual for its function; or nothing is spent on starting workers, on
    fetching values, or on attempts that failed and were tried again.
    """

    kind: Literal["no_stragglers", "no_startup", "no_transfer", "no_retries"]


class NumCpusChange(_Change):
    """A function, or an actor class, asks for so many CPUs."""

    kind: Literal["num_cpus"]
    function: _Name
    num_cpus: float = Field(ge=0, le=100_000, allow_inf_nan=False)


class OneGetChange(_Change):
    """Loops that get the values of a function one by one get all of them at once."""

    kind: Literal["one_get"]
    function: _Name


class BatchChange(_Change):
    """Each call of a function does what ``size`` calls did."""

    kind: Literal["batch"]
    function: _Name
    size: int = Field(ge=2, le=100_000)


AnyChange = Annotated[
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
    """What is changed, all at once, in a job (default: the longest one that ran tasks) of a session."""

    session: str | None = Field(None, max_length=200)
    job_id: str | None = Field(None, max_length=200)
    changes: list[AnyChange] = Field(min_length=1, max_length=20)
