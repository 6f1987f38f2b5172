"""Responses about comparisons. Times are in ns, sizes in bytes. A ratio is B's value by A's."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from rayscope.insights.schemas import FindingSeverity

#: Maximum number of runs on each side.
MAX_RUNS = 20

Verdict = Literal["slower", "faster", "no_change", "cannot_tell"]


class ComparedRun(TypedDict):
    """One run: a job. ``name`` is its script with its arguments, '' if unknown."""

    session: str
    job_id: str
    name: str
    begin_ns: int
    duration_ns: int


class Side(TypedDict):
    """The runs of one side. ``shown`` is the run with the median duration, whose path the waterfall shows.

    ``left_out``: its warm-up runs.
    """

    runs: list[ComparedRun]
    left_out: list[ComparedRun]
    shown: ComparedRun


class DurationChange(TypedDict):
    """How the durations differ. ``a_ns`` and ``b_ns`` are their geometric means, and ``ratio`` is B's by A's.

    ``low`` and ``high`` are limits of the ratio at a confidence of 99 %. ``p`` is the probability of such a
    difference between equal sides. ``spread`` is the standard deviation of a run as a share of its duration.
    All four are null if no side has several runs, and the limits if they are beyond a factor of 1,000.
    ``more_runs`` is how many further runs on each side would show a change as large as ``margin``; null if
    the verdict is clear, or if that number is unknown or too large.
    """

    verdict: Verdict
    a_ns: int
    b_ns: int
    ratio: float
    low: float | None
    high: float | None
    p: float | None
    spread: float | None
    more_runs: int | None
    margin: float


class WaterfallPart(TypedDict):
    """A part of the difference between the two paths that are shown.

    ``function`` is '' for phases that are one cause for all functions. The phase ``others`` sums the parts
    that are left out, and ``not_followed`` is time before the part of a path that is known.
    """

    phase: str
    function: str
    is_driver: bool
    a_ns: int
    b_ns: int
    change_ns: int


class FunctionSide(TypedDict):
    """A function on one side. ``runs`` of its runs have it.

    ``attempts``, ``total_ns`` and ``cpu_ns`` are averages over all runs of the side, and ``failed`` is the
    sum. ``mean_ns``, ``p50_ns`` and ``p95_ns`` are averages over the runs that have the function. Times are
    those of execution without waits. Memory is the greatest peak. ``input_bytes`` and ``output_bytes`` are
    those of one attempt. Null: unknown.
    """

    runs: int
    attempts: float
    failed: int
    mean_ns: int | None
    p50_ns: int | None
    p95_ns: int | None
    total_ns: int
    cpu_ns: int | None
    peak_memory: int | None
    input_bytes: float | None
    output_bytes: float | None


class FunctionChange(TypedDict):
    """A function or a call path that ran on at least one side.

    ``ratio`` is that of the mean times, and ``own_ratio`` that beyond the factor that is common to most
    functions. ``verdict`` is about ``own_ratio``. ``renamed_from`` is the function of A that this one seems
    to be; its figures are then those of A.
    """

    name: str
    module: str | None
    renamed_from: str | None
    verdict: Verdict | Literal["new", "gone"]
    ratio: float | None
    own_ratio: float | None
    p: float | None
    change_ns: int
    a: FunctionSide | None
    b: FunctionSide | None


class Warned(TypedDict):
    """A reason why the sides may not be comparable, with what is recorded about A and B.

    ``code``: ``tracer``, ``recording``, ``outcome``, ``state``, ``path``, ``dropped``, or ``nodes``.
    """

    code: str
    a: list[str]
    b: list[str]


class DifferenceItem(TypedDict):
    """Something else that differs, such as a version or a setting. Null: not recorded on that side.

    All values begin with the same ``same_chars`` characters. Values of more than 1,000 characters are cut,
    and if more than 500 are the same, these are replaced by `…`.
    """

    what: str
    a: list[str] | None
    b: list[str] | None
    same_chars: int


FindingChange = Literal["came", "went", "stayed"]


class ComparedFinding(TypedDict):
    """A finding about the run A, B, or both. ``a_share``, ``b_share``: how much it costs or would save, as a
    share of the run's time; null if that run does not have it.
    """

    change: FindingChange
    kind: str
    title: str
    severity: FindingSeverity
    function: str | None
    actor_class: str | None
    caller: str | None
    a_share: float | None
    b_share: float | None


class ComparedFindings(TypedDict):
    """The findings of two runs. ``too_large``: the runs that have too many attempts for findings.
    Then there are no items. ``not_replayed``: the runs of which all shares are maximum costs.
    """

    items: list[ComparedFinding]
    too_large: list[Literal["a", "b"]]
    not_replayed: list[Literal["a", "b"]]


class ComparedLine(TypedDict):
    """A line of code. The shares are those of the samples in which it was innermost.

    ``points`` is half the width of the 95 % confidence interval of their difference, in percentage points.
    """

    file: str
    line: int
    function: str
    a_share: float
    b_share: float
    points: float
    verdict: Literal["more", "less", "cannot_tell"]


class ComparedLines(TypedDict):
    """The lines of a function whose share of its samples changed the most.

    There are none if a side has fewer than ``min_samples``.
    """

    a_samples: int
    b_samples: int
    min_samples: int
    items: list[ComparedLine]


class CompareAnswer(TypedDict):
    """Two sides compared. The parts of ``waterfall`` sum to the difference between the durations of the two
    runs that are shown. ``common`` is the factor by which most functions changed, per attempt. 1: there is
    none.
    """

    a: Side
    b: Side
    duration: DurationChange
    waterfall: list[WaterfallPart]
    common: float
    functions: list[FunctionChange]
    functions_left_out: int
    warnings: list[Warned]
    differences: list[DifferenceItem]
