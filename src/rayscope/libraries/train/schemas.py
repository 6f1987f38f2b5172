"""What is said of Ray Train."""

from __future__ import annotations

from typing import Literal

from rayscope.api.schemas import Answer
from rayscope.libraries.schemas import LibraryProblem


class TrainRunItem(Answer):
    """A training run. ``end_known_by``: ``job`` or ``session`` where the end is inferred.

    ``worker_count``: of the attempt with most.
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


class TrainRunPage(Answer):
    """The training runs of a session, newest first. ``problem``: why some may be missing or out of date."""

    session: str
    items: list[TrainRunItem]
    total: int
    problem: LibraryProblem | None


class TrainAttempt(Answer):
    """An attempt of a run: a group of workers. ``reports``: of the worker with most."""

    attempt_id: str
    state: str | None
    status_detail: str | None
    start_ns: int | None
    end_ns: int | None
    end_known_by: Literal["job", "session"] | None
    worker_count: int
    reports: int


class TrainWorker(Answer):
    """A worker of an attempt. ``reporting_since_ns``: since when it is in a report, where it waits for all
    other ranks; None if it is in none, and for the first second of one.
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


class StepTimes(Answer):
    """Mean times of a rank's steps (ns): ``own_ns`` up to its report, ``data_ns`` of these in waiting for
    data (None where that is not known), ``report_ns`` in the report. ``straggles``: in how many of the
    ``steps`` it took much longer than the median rank up to its report.
    """

    rank: int
    steps: int
    own_ns: int | None
    data_ns: int | None
    report_ns: int
    straggles: int


class StepCell(StepTimes):
    """The times of a rank in one column, which is one step or several."""

    column: int


class RankTimes(StepTimes):
    """The times of a rank in all steps."""

    p50_ns: int | None
    max_ns: int | None


class MetricLine(Answer):
    """A metric of one rank: pairs of column and mean value."""

    rank: int
    points: list[tuple[int, float]]


class ReportedMetric(Answer):
    """A metric that workers reported. ``not_finite_step``: the first step in which it was NaN or infinite."""

    name: str
    not_finite_step: int | None
    not_finite_rank: int | None
    lines: list[MetricLine]


class TrainCheckpoint(Answer):
    """A checkpoint that was reported, by how many ranks; ``path`` as the first of them knew it."""

    step: int
    rank: int
    ranks: int
    path: str
    time_ns: int
    report_ns: int


class TrainRunAnswer(TrainRunItem):
    """One training run, and of one of its attempts the workers and what they reported.

    A column of ``cells`` and ``metrics`` is ``bucket`` steps. ``ranks`` are all, ``cells`` and lines those
    of the ``shown_ranks`` first. ``reports_left_out``: reports that came so fast that they were only counted.
    """

    session: str
    controller_actor_id: str | None
    controller_log_file: str | None
    controller_node_id: str | None
    settings: dict[str, str]
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
