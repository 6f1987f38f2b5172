"""The data that outlives a record: the summary of a run, the figures of its functions, and its marks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from rayscope.model.decoding import DECODE_ERRORS
from rayscope.model.program import script_name
from rayscope.runs import sql
from rayscope.storage.about import About
from rayscope.storage.session_file import SessionFile

#: Maximum number of functions in a summary: those with the most time.
MAX_FUNCTIONS = 50
#: Maximum number of entries of a job's metadata, and the maximum length of each text.
_MAX_METADATA = 20
_MAX_CHARS = 500
#: The state of a job that ended as it should.
SUCCEEDED = ("SUCCEEDED", "FINISHED")


class FunctionSummary(msgspec.Struct, frozen=True):
    """A function in one run. Its times are those of execution without waits, in ns. None: unknown."""

    name: str
    module: str | None
    attempts: int
    failed: int
    mean_ns: int | None
    p50_ns: int | None
    p95_ns: int | None
    total_ns: int
    cpu_ns: int | None


class RunSummary(msgspec.Struct, frozen=True):
    """A run: one job of a session. Times are in ns, memory in bytes. None: unknown.

    Attributes:
        tags: those of the session.
        failed: the attempts that failed, without those that a library stopped on purpose.
        gpu_ns: the time for which GPUs were held, multiplied by their number.
        dropped: reports that the record of the session lacks.
        functions_left_out: functions that are not in the summary because others took more time.
        made_ns: when this was written.
    """

    session: str
    job_id: str
    made_ns: int
    script: str
    entrypoint: str
    tags: tuple[str, ...]
    metadata: dict[str, str]
    cluster: str | None
    nodes: int
    begin_ns: int | None
    end_ns: int | None
    outcome: str
    tasks: int
    attempts: int
    failed: int
    cpu_ns: int | None
    gpu_ns: int | None
    peak_memory: int | None
    ray_version: str | None
    git_commit: str | None
    is_traced: bool
    recording: str
    dropped: int
    functions_left_out: int

    @property
    def duration_ns(self) -> int | None:
        """How long the job took."""
        if self.begin_ns is None or self.end_ns is None:
            return None
        return max(0, self.end_ns - self.begin_ns)


class Marks(msgspec.Struct, frozen=True):
    """Marks of a run that an operator set. ``tags`` replace those of the session, unless they are None.

    ``is_baseline``: other runs of its group are compared with it. ``is_left_out``: it is not comparable.
    ``changed_ns``: when any of them was set last, 0 if none was.
    """

    tags: tuple[str, ...] | None = None
    is_baseline: bool = False
    is_left_out: bool = False
    changed_ns: int = 0


NO_MARKS = Marks()


class Run(NamedTuple):
    """A run with the operator's marks."""

    summary: RunSummary
    marks: Marks

    @property
    def key(self) -> tuple[str, str]:
        """The session and the job."""
        return self.summary.session, self.summary.job_id

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags of the run, or those of its session."""
        return self.summary.tags if self.marks.tags is None else self.marks.tags

    @property
    def group(self) -> tuple[str, str]:
        """The script and the variant: runs are comparable only within a group."""
        return self.summary.script, variant_of(self.tags)

    @property
    def begin_ns(self) -> int:
        """When it began, 0 if that is unknown."""
        return self.summary.begin_ns or 0

    @property
    def has_succeeded(self) -> bool:
        """Whether the job ended as it should."""
        return self.summary.outcome in SUCCEEDED


def variant_of(tags: Sequence[str]) -> str:
    """The tags with an equals sign, such as ``data=large``. They say what else the runs have in common."""
    return ",".join(sorted(tag for tag in tags if "=" in tag))


def summarize(
    file: SessionFile, about: About, job_id: str, last_ns: int, made_ns: int, recording: str
) -> tuple[RunSummary, list[FunctionSummary]]:
    """Read the summary of a job. ``last_ns``: the end that is assumed for running attempts."""
    with file.reader() as reader:
        job = sql.read_job(reader, job_id)
        begin_ns, end_ns = (job.get(name) or None for name in ("start_ns", "end_ns"))
        totals = sql.read_totals(reader, job_id, last_ns)
        functions = sql.read_functions(reader, job_id, last_ns)
        nodes = sql.read_nodes(reader, begin_ns or about.first_ns, end_ns or last_ns)
    entrypoint = job.get("entrypoint") or ""
    kept = [_function(name, figures) for name, figures in list(functions.items())[:MAX_FUNCTIONS]]
    summary = RunSummary(
        session=about.session,
        job_id=job_id,
        made_ns=made_ns,
        script=script_name(entrypoint),
        entrypoint=entrypoint[:_MAX_CHARS],
        tags=about.label.tags,
        metadata=_texts(job.get("metadata")),
        cluster=about.host,
        nodes=len(nodes),
        begin_ns=begin_ns,
        end_ns=end_ns,
        outcome=job.get("state") or "UNKNOWN",
        tasks=totals.tasks,
        attempts=totals.attempts,
        failed=totals.failed,
        cpu_ns=totals.cpu_ns,
        gpu_ns=totals.gpu_ns,
        peak_memory=totals.peak_memory,
        ray_version=about.ray_version,
        git_commit=_texts(job.get("versions")).get("git_commit"),
        is_traced=totals.is_traced,
        recording=recording,
        dropped=about.dropped_total,
        functions_left_out=len(functions) - len(kept),
    )
    return summary, kept


def _function(name: str, figures: sql.FunctionFigures) -> FunctionSummary:
    return FunctionSummary(
        name,
        figures.module,
        figures.attempts,
        figures.failed,
        None if figures.mean_ns is None else round(figures.mean_ns),
        figures.p50_ns,
        figures.p95_ns,
        figures.total_ns,
        figures.cpu_ns,
    )


def _texts(text: str | None) -> dict[str, str]:
    """The first entries of a JSON object as short texts, empty if there is none."""
    try:
        found = msgspec.json.decode(text or "{}")
        entries = list(found.items())[:_MAX_METADATA] if isinstance(found, dict) else []
        return {str(name)[:_MAX_CHARS]: str(value)[:_MAX_CHARS] for name, value in entries}
    except DECODE_ERRORS:
        return {}
