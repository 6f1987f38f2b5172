"""Schemas of Ray Train."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from rayscope.libraries.schemas import LibraryPage


class TrainRunItem(TypedDict):
    """A training run. ``end_known_by``: ``job`` or ``session`` if the end is inferred.

    ``worker_count``: the workers of its largest attempt.
    """

    run_id: str
    name: str | None
    state: str | None
    status_detail: str | None
    job_id: str | None
    entrypoint: str | None
    start_ns: int | None
    end_ns: int | None
    end_known_by: Literal["job", "session"] | None
    attempt_count: int
    failed_attempts: int
    worker_count: int


class TrainRunPage(LibraryPage):
    """The training runs of a session, newest first. ``problem``: why some may be missing or out of date."""

    items: list[TrainRunItem]


class TrainAttempt(TypedDict):
    """An attempt of a run: a group of workers. ``reports``: the largest number of reports by one worker."""

    attempt_id: str
    state: str | None
    status_detail: str | None
    start_ns: int | None
    end_ns: int | None
    end_known_by: Literal["job", "session"] | None
    worker_count: int
    reports: int


class TrainWorker(TypedDict):
    """A worker of an attempt.

    ``reporting_since_ns``: when it began its current report, in which it waits for all other ranks; None if
    it is not in a report, or has been in one for less than a second.
    """

    train_worker_id: str
    state: str | None
    world_rank: int | None
    local_rank: int | None
    node_rank: int | None
    actor_id: str | None
    node_id: str | None
    node_ip: str | None
    pid: int | None
    gpus: list[int]
    log_file: str | None
    reporting_since_ns: int | None


class StepTimes(TypedDict):
    """The mean times of a rank's steps, ns.

    ``own_ns``: the time before its report, including ``data_ns``, the time spent waiting for data (None if
    unknown). ``report_ns``: the time in the report. ``straggles``: in how many of the ``steps`` it took much
    longer until its report than the median rank.
    """

    rank: int
    steps: int
    own_ns: int | None
    data_ns: int | None
    report_ns: int
    straggles: int


class StepCell(StepTimes):
    """A rank's times in one column, which stands for one or several steps."""

    column: int


class RankTimes(StepTimes):
    """A rank's times over all steps."""

    p50_ns: int | None
    max_ns: int | None


class MetricLine(TypedDict):
    """A metric of one rank: pairs of column and mean value."""

    rank: int
    points: list[tuple[int, float]]


class ReportedMetric(TypedDict):
    """A metric reported by workers. ``not_finite_step``: the first step in which it was NaN or infinite."""

    name: str
    not_finite_step: int | None
    not_finite_rank: int | None
    lines: list[MetricLine]


class TrainCheckpoint(TypedDict):
    """A checkpoint, and how many ranks reported it. ``path``: the path reported by the first of them."""

    step: int
    rank: int
    ranks: int
    path: str
    time_ns: int
    report_ns: int


class TrainRun(TrainRunItem):
    """A training run with its controller and its ``settings`` as JSON."""

    controller_actor_id: str | None
    controller_log_file: str | None
    controller_node_id: str | None
    settings: dict[str, str]


class TrainRunAnswer(TrainRun):
    """A single training run, with the workers of one of its attempts and their reports.

    A column of ``cells`` and ``metrics`` stands for ``bucket`` steps. ``ranks`` contains all ranks; ``cells``
    and the lines of ``metrics`` are those of the first ``shown_ranks`` of them. ``reports_left_out``: the
    number of reports in such quick succession that they were only counted.
    """

    session: str
    attempts: list[TrainAttempt]
    attempt_id: str | None
    workers: list[TrainWorker]
    steps: int
    bucket: int
    cells: list[StepCell]
    ranks: list[RankTimes]
    shown_ranks: int
    metrics: list[ReportedMetric]
    checkpoints: list[TrainCheckpoint]
    reports_left_out: int
