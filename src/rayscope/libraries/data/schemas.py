"""Schemas of Ray Data."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from rayscope.libraries.schemas import LibraryPage


class OperatorItem(TypedDict):
    """An operator of a dataset. ``progress`` and ``total``: numbers of blocks, None if Ray does not know
    them.

    ``inputs``: the IDs of the operators that feed it, None if the tracer did not report them.
    """

    operator_id: str
    name: str
    state: str | None
    position: int
    progress: int | None
    total: int | None
    total_rows: int | None
    queued_blocks: int | None
    inputs: list[str] | None


class _DatasetFields(TypedDict):
    """The fields of a dataset, except its operators."""

    dataset_id: str
    name: str
    job_id: str | None
    entrypoint: str | None
    state: str | None
    start_ns: int | None
    end_ns: int | None
    end_known_by: Literal["job", "session"] | None
    progress: int | None
    total: int | None
    total_rows: int | None


class DatasetItem(_DatasetFields):
    """A dataset that was executed. ``end_known_by``: ``job`` or ``session`` if the end is inferred."""

    operators: list[OperatorItem]


class DatasetPage(LibraryPage):
    """The datasets of a session, newest first. ``problem``: why the data may be out of date."""

    items: list[DatasetItem]


class TaskNames(TypedDict):
    """Filters that find tasks in the list of tasks."""

    func_name: str | None
    name: str | None


class OperatorTasks(TypedDict):
    """The tasks that ran for an operator: times in ns, sizes in bytes (None without the tracer).

    ``steady_ns``: the total time if the first task in each worker, which imports modules, had taken as long
    as the others.
    """

    names: list[TaskNames]
    states: dict[str, int]
    at_once: int | None
    first_ns: int | None
    last_ns: int | None
    time_ns: int | None
    steady_ns: int | None
    p50_ns: int | None
    p95_ns: int | None
    max_ns: int | None
    output_bytes: int | None
    p50_bytes: int | None
    max_bytes: int | None


class OperatorDetail(OperatorItem):
    """An operator with the tasks that ran for it.

    ``least_ns``: the minimum duration of the tasks at their maximum concurrency. ``running``: the mean number
    of running tasks in each bucket of time. ``actors``: actors created for its pool. ``actor_start_ns``: the
    median time until these were ready.
    """

    tasks: OperatorTasks | None
    least_ns: int
    running: list[float]
    actors: int
    actor_start_ns: int | None


class DatasetWarning(TypedDict):
    """A warning from Ray Data about an operator. ``issue``: its kind, in Ray Data's words."""

    time_ns: int
    operator: str
    issue: str | None
    message: str | None


class Dataset(_DatasetFields):
    """A dataset with the tasks of its operators.

    ``bottleneck``: the operator that limits the throughput, None if none clearly does. ``begin_ns`` and
    ``bucket_ns``: the start of the buckets of ``running``, and the size of each.
    """

    operators: list[OperatorDetail]
    warnings: list[DatasetWarning]
    bottleneck: str | None
    begin_ns: int | None
    bucket_ns: int | None


class DatasetAnswer(Dataset):
    """A single dataset."""

    session: str
