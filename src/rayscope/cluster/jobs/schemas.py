"""What is said of jobs, and asked for."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from rayscope.api.schemas import Answer, Body


class FunctionProgress(Answer):
    """A function of a job: its attempts by state, and the sums of their times (ns).

    ``stopped_by_libraries``: of the failed ones those that a library stopped on purpose: no failures.
    """

    func_name: str | None
    type: str | None
    attempts: int
    duration_ns: int
    waiting_ns: int
    total_ns: int
    states: dict[str, int]
    stopped_by_libraries: int


class RestProgress(Answer):
    """What functions beyond the first 100 add up to."""

    functions: int
    attempts: int
    states: dict[str, int]
    stopped_by_libraries: int


class Progress(Answer):
    """All attempts of a job or actor by state, and by function."""

    id: str
    attempts: int
    states: dict[str, int]
    stopped_by_libraries: int
    functions: list[FunctionProgress]
    rest: RestProgress


class JobRequest(Body):
    """A job to submit, as Ray's job API takes it."""

    entrypoint: str = Field(min_length=1, max_length=20_000, description="A shell command.")
    submission_id: str | None = Field(None, min_length=1, max_length=200)
    runtime_env: dict[str, Any] | None = None
    metadata: dict[str, str] | None = None
    entrypoint_num_cpus: float | None = Field(None, ge=0)
    entrypoint_num_gpus: float | None = Field(None, ge=0)
    entrypoint_memory: int | None = Field(None, ge=0, description="Bytes.")
    entrypoint_resources: dict[str, float] | None = None


class Submitted(Answer):
    """What Ray calls the job."""

    submission_id: str


class FolderAnswer(Answer):
    """Where the cluster's nodes find the folder."""

    uri: str


class Stopped(Answer):
    """Whether the job still ran."""

    stopped: bool


class Deleted(Answer):
    """Whether Ray has forgotten the job; the record keeps it."""

    deleted: bool
