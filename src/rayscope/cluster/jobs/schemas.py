"""Schemas of the progress and the actions of jobs."""

from __future__ import annotations

from typing import Any

from pydantic import Field
from typing_extensions import TypedDict

from rayscope.api.schemas import Body


class FunctionProgress(TypedDict):
    """A function of a job or actor: its attempts by state, and the sums of their times (ns).

    ``stopped_by_libraries``: the number of failed attempts that a library stopped on purpose. They are not
    failures.
    """

    func_name: str | None
    type: str | None
    attempts: int
    duration_ns: int
    waiting_ns: int
    total_ns: int
    states: dict[str, int]
    stopped_by_libraries: int


class RestProgress(TypedDict):
    """Totals over all functions beyond the first 100."""

    functions: int
    attempts: int
    states: dict[str, int]
    stopped_by_libraries: int


class Progress(TypedDict):
    """All attempts of a job or actor by state, and by function."""

    id: str
    attempts: int
    states: dict[str, int]
    stopped_by_libraries: int
    functions: list[FunctionProgress]
    rest: RestProgress


class JobRequest(Body):
    """A job to submit, with the fields of Ray's job API."""

    entrypoint: str = Field(min_length=1, max_length=20_000, description="A shell command.")
    submission_id: str | None = Field(None, min_length=1, max_length=200)
    runtime_env: dict[str, Any] | None = None
    metadata: dict[str, str] | None = None
    entrypoint_num_cpus: float | None = Field(None, ge=0)
    entrypoint_num_gpus: float | None = Field(None, ge=0)
    entrypoint_memory: int | None = Field(None, ge=0, description="Bytes.")
    entrypoint_resources: dict[str, float] | None = None


class Submitted(TypedDict):
    """The submission ID of the new job."""

    submission_id: str


class FolderAnswer(TypedDict):
    """The URI at which the cluster's nodes find the folder."""

    uri: str


class Stopped(TypedDict):
    """Whether the job was still running."""

    stopped: bool


class Deleted(TypedDict):
    """Whether Ray has deleted the job. Rayscope's record is kept."""

    deleted: bool
