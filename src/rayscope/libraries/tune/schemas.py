"""Schemas of Ray Tune."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from rayscope.libraries.schemas import LibraryPage

TuneMode = Literal["min", "max"]


class TuneExperimentItem(TypedDict):
    """An experiment: one ``Tuner.fit()``. ``end_known_by``: ``job`` or ``session`` if the end is inferred.

    ``state``: RUNNING, FINISHED, ERRORED (no trial succeeded), INTERRUPTED (it ended before its trials), or
    CUT_OFF with its job or session. ``trial_states``: the number of trials by state. ``stopped_early``:
    trials that the scheduler or a stopper ended. ``best_trial_id`` and ``best_value``: according to the last
    result of each trial, None without a metric and a mode.
    """

    experiment_id: str
    name: str | None
    state: str | None
    path: str | None
    job_id: str | None
    entrypoint: str | None
    metric: str | None
    mode: TuneMode | None
    scheduler: str | None
    search_algorithm: str | None
    num_samples: int | None
    is_restored: bool
    start_ns: int | None
    end_ns: int | None
    end_known_by: Literal["job", "session"] | None
    trial_count: int
    trial_states: dict[str, int]
    stopped_early: int
    results: int
    best_trial_id: str | None
    best_value: float | None


class TuneExperimentPage(LibraryPage):
    """The experiments of a session, newest first. ``problem``: why some may be missing."""

    items: list[TuneExperimentItem]


class TuneTrial(TypedDict):
    """A trial.

    ``parameters`` and ``metrics`` (of its last result): the names of nested values are joined with "/".
    ``end_reason``: ``finished`` (on its own), ``criterion`` (it met the stop criterion), ``early`` (the
    scheduler or a stopper ended it). ``value``: the last value of the answer's metric; ``best_value``: the
    best one. Numbers that are not finite are None in these two, and strings in ``metrics``. ``failures``: how
    often it failed. ``actor_id``: the last actor that ran it. ``results`` and ``checkpoints``: how many are
    recorded.
    """

    trial_id: str
    name: str | None
    state: str | None
    end_reason: Literal["finished", "criterion", "early"] | None
    parameters: dict[str, str | int | float | bool]
    metrics: dict[str, str | int | float]
    iterations: int | None
    time_total_s: float | None
    value: float | None
    best_value: float | None
    best_iteration: int | None
    results: int
    checkpoints: int
    failures: int
    error: str | None
    path: str | None
    actor_id: str | None
    earlier_actor_ids: list[str]
    node_id: str | None
    start_ns: int | None
    end_ns: int | None


class TuneParameter(TypedDict):
    """A parameter of an experiment's trials, and the number of its different values."""

    name: str
    is_number: bool
    varies: bool
    values: int


class TuneLine(TypedDict):
    """The metric of one trial: pairs of iteration and value."""

    trial_id: str
    points: list[tuple[int, float]]


class TuneExperimentAnswer(TuneExperimentItem):
    """A single experiment with its trials, sorted by ID.

    ``shown_metric`` and ``shown_mode``: the objective of ``shown_best_trial_id``, the values and the
    ``lines``. Without one of Tune, it is the only reported metric. ``restored_from``: the experiment that
    this one continues. ``metrics``: the names of the reported metrics. A line has one point for each
    ``bucket`` iterations. Only the best trials have a line; ``lines_left_out`` trials have none.
    ``results_left_out``: the number of results in such quick succession that they were only counted.
    """

    session: str
    restored_from: str | None
    trials: list[TuneTrial]
    trials_left_out: int
    parameters: list[TuneParameter]
    metrics: list[str]
    shown_metric: str | None
    shown_mode: TuneMode | None
    shown_best_trial_id: str | None
    iterations: int
    bucket: int
    lines: list[TuneLine]
    lines_left_out: int
    results_left_out: int
