"""Judges the accuracy of a job's replay, and predicts what the job would gain from each change."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import NamedTuple, get_args

from rayscope.insights import schemas
from rayscope.insights.replay.build import build
from rayscope.insights.replay.changes import Change, apply_changes
from rayscope.insights.replay.margin import saving_range, with_slower_ray
from rayscope.insights.replay.path import Link, critical_path
from rayscope.insights.replay.program import CPU, UNIT, Programs
from rayscope.insights.replay.recorded import Recorded
from rayscope.insights.replay.simulation.engine import Replayed, replay
from rayscope.units import duration

#: Called with the progress of the current replay (0 to 1). Raises an exception to stop the work.
Check = Callable[[float], None]
#: Jobs with more attempts than this are replayed only on request, because that takes a minute or more.
MAX_ATTEMPTS = 100_000
#: Jobs with more attempts than this are not even read, because each attempt takes 3 KB of memory.
MAX_READ = 1_000_000
#: If the unchanged replay differs from the record by more than this share, nothing is predicted: the ranges
#: would reach from almost nothing to almost twice the saving.
MAX_ERROR = 0.5
#: Number of replays for a baseline: one unchanged, and one with a slower Ray.
BASELINE_REPLAYS = 2
#: Maximum number of attempts that one answer replays to predict the savings of findings.
_MAX_FINDINGS_ATTEMPTS = 2_000_000
#: Maximum number of attempts that one answer replays to predict the gains from functions and options.
_MAX_GAINS_ATTEMPTS = 1_000_000
#: Maximum number of findings whose savings are predicted.
_MAX_FINDINGS = 20
#: Maximum number of functions whose gains are predicted.
_MAX_FUNCTIONS = 50
#: Maximum number of stretches of a critical path in an answer, and of functions on it.
_MAX_LINKS = 50
_OPTIONS: tuple[schemas.GainOption, ...] = get_args(schemas.GainOption)


class Baseline(NamedTuple):
    """A job's record, its programs, and the result of their replay. ``withheld``: why nothing is predicted,
    or None.

    ``ray_ns``: how much longer the job takes if Ray itself needs twice as long for its own work; None if
    nothing is predicted.
    """

    recorded: Recorded
    programs: Programs
    replayed: Replayed
    recorded_ns: int
    replayed_ns: int
    withheld: schemas.Withheld | None
    ray_ns: int | None = None

    @property
    def calibration(self) -> schemas.Calibration:
        """The accuracy of the replay."""
        if self.replayed.is_stuck:
            return {"recorded_ns": self.recorded_ns, "replayed_ns": None, "error": None, "ray_ns": None}
        return {
            "recorded_ns": self.recorded_ns,
            "replayed_ns": self.replayed_ns,
            "error": self.replayed_ns / max(1, self.recorded_ns) - 1,
            "ray_ns": self.ray_ns,
        }

    def saving_fields(self, saving_ns: int, most_ns: int | None = None) -> schemas.Saving:
        """A saving and the range that contains it in 9 of 10 cases.

        ``most_ns``: the most that can be saved, if that is less than the job's duration.
        """
        error = self.calibration["error"] or 0.0
        most_ns = self.recorded_ns if most_ns is None else min(most_ns, self.recorded_ns)
        low, high = saving_range(saving_ns, error, self.ray_ns or 0, most_ns)
        return {"saving_ns": saving_ns, "saving_low_ns": low, "saving_high_ns": high}


def too_large(attempts: int) -> schemas.Withheld:
    """Why a job with this many attempts is not replayed, or only on request."""
    if attempts > MAX_READ:
        message = f"The job has {attempts:,} attempts; at most {MAX_READ:,} are looked at."
        return {"code": "too_large", "message": message}
    return {
        "code": "takes_long",
        "message": f"The job has {attempts:,} attempts. Replaying more than {MAX_ATTEMPTS:,} takes a minute "
        "or more, so ask for it: rayscope diagnose --long, or the page Insights.",
    }


def findings_replayed(attempts: int) -> int:
    """The maximum number of findings whose savings are predicted for a job with this many attempts."""
    return max(1, min(_MAX_FINDINGS, _MAX_FINDINGS_ATTEMPTS // max(1, attempts)))


def _functions_replayed(attempts: int) -> int:
    return max(1, min(_MAX_FUNCTIONS, _MAX_GAINS_ATTEMPTS // max(1, attempts) - len(_OPTIONS)))


def replays(attempts: int) -> int:
    """The maximum number of replays that an answer about a job with this many attempts takes."""
    return BASELINE_REPLAYS + findings_replayed(attempts) + _functions_replayed(attempts) + len(_OPTIONS)


def baseline(recorded: Recorded, check: Check) -> Baseline:
    """Replay a job unchanged and compare the result with the record."""
    programs = build(recorded)
    replayed = replay(programs, check)
    begin = recorded.driver[0]
    recorded_ns, replayed_ns = recorded.driver[1] - begin, max(0, replayed.duration_ns - begin)
    withheld: schemas.Withheld | None = None
    if not recorded.has_driver:
        message = "The job's driver is not on record, so nobody knows what it waited for."
        withheld = {"code": "no_driver", "message": message}
    elif not recorded.is_traced:
        message = (
            "It is not known what the job's driver and tasks waited for: "
            "the tracer reported nothing from them."
        )
        withheld = {"code": "not_traced", "message": message}
    elif replayed.is_stuck:
        message = "The replay of the job came to a point where everything waits for something."
        withheld = {"code": "stuck", "message": message}
    elif abs(replayed_ns - recorded_ns) > MAX_ERROR * recorded_ns:
        message = (
            f"Replayed unchanged, the job takes {duration(replayed_ns)} instead of "
            f"{duration(recorded_ns)}; predictions are withheld beyond {MAX_ERROR:.0%}."
        )
        withheld = {"code": "inaccurate", "message": message}
    ray_ns = None
    if withheld is None:
        slower = replay(with_slower_ray(programs), check)
        ray_ns = recorded_ns if slower.is_stuck else max(0, slower.duration_ns - replayed.duration_ns)
    return Baseline(recorded, programs, replayed, recorded_ns, replayed_ns, withheld, ray_ns)


def utilisation(programs: Programs, replayed: Replayed) -> float | None:
    """The reserved share of the CPU time of all nodes; None if there were no CPUs."""
    whole = 0.0
    for node, begin, end in zip(programs.nodes, programs.node_from, programs.node_until, strict=True):
        until = replayed.duration_ns if end < 0 else min(end, replayed.duration_ns)
        whole += node[CPU] / UNIT * max(0, until - begin)
    return min(1.0, replayed.reserved_ns / whole) if whole else None


def predict(base: Baseline, changes: Sequence[Change], check: Check) -> tuple[Programs, Replayed]:
    """The changed programs and the result of their replay. Raises BadChange."""
    programs = apply_changes(base.programs, changes)
    return programs, replay(programs, check)


def saving(base: Baseline, changes: Sequence[Change], check: Check) -> int | None:
    """How much time the changes save, ns, or None if the changed replay gets stuck. Raises BadChange."""
    _, replayed = predict(base, changes, check)
    return None if replayed.is_stuck else base.recorded_ns - scaled(base, replayed.duration_ns)


def scaled(base: Baseline, duration_ns: int) -> int:
    """A replayed duration, corrected by the error of the unchanged replay."""
    replayed_ns = max(0, duration_ns - base.recorded.driver[0])
    return round(replayed_ns * (base.recorded_ns / max(1, base.replayed_ns)))


def _is_driver(programs: Programs, function: int) -> bool:
    """Whether a function is the driver. Its name is not enough: a user's function may have the same one."""
    return function == programs.function[programs.roots[0]]


def functions_by_time(programs: Programs) -> list[tuple[int, int, int]]:
    """Each function and the driver, with the number of attempts and their execution time in ns, the longest
    time first.
    """
    attempts: dict[int, int] = defaultdict(int)
    own: dict[int, int] = defaultdict(int)
    for run, function in enumerate(programs.function):
        attempts[function] += 1
        own_ns = programs.own_ns(run)
        if own_ns < 1 << 59:
            own[function] += own_ns
    found = [(one, count, own[one]) for one, count in attempts.items()]
    return sorted(found, key=lambda one: (-one[2], programs.functions[one[0]]))


def gains(
    base: Baseline, check: Check, origin: Callable[[str], str | None]
) -> tuple[list[schemas.FunctionGain], int, list[schemas.OptionGain]]:
    """The gain if each function took half the time, the number of functions, and the gain from each option.
    The largest gains come first. ``origin``: returns the origin of a function.
    """
    whole = max(1, base.recorded_ns)
    functions = functions_by_time(base.programs)
    found: list[schemas.FunctionGain] = []
    for function, attempts, own_ns in functions[: _functions_replayed(len(base.recorded.attempts))]:
        name = base.programs.functions[function]
        saved = saving(base, [Change("speed", name, 2.0)], check) if own_ns else None
        if saved is not None:
            found.append(
                {
                    "function": name,
                    "is_driver": _is_driver(base.programs, function),
                    "attempts": attempts,
                    "own_ns": own_ns,
                    "predicted_ns": base.recorded_ns - saved,
                    **base.saving_fields(saved, own_ns // 2),
                    "share": saved / whole,
                    "origin": origin(name),
                }
            )
    options: list[schemas.OptionGain] = []
    cpus = sum(node[CPU] for node in base.programs.nodes) // UNIT
    for option in _OPTIONS:
        change = Change("cpus", amount=cpus) if option == "twice_the_cpus" else Change(option)
        saved = saving(base, [change], check)
        if saved is not None:
            options.append(
                {
                    "option": option,
                    "predicted_ns": base.recorded_ns - saved,
                    **base.saving_fields(saved),
                    "share": saved / whole,
                }
            )
    found.sort(key=lambda gain: -gain["saving_ns"])
    options.sort(key=lambda gain: -gain["saving_ns"])
    return found, len(functions), options


def path_of(
    base: Baseline, programs: Programs, replayed: Replayed
) -> tuple[list[schemas.PathStretch], list[schemas.FunctionOnPath]]:
    """The longest stretches of a replay's critical path in chronological order, and the time on the path by
    function.
    """
    links = critical_path(programs, replayed)
    whole = max(1, sum(link.end_ns - link.begin_ns for link in links))
    by_function: dict[int, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for link in links:
        by_function[programs.function[link.run]][link.phase] += link.end_ns - link.begin_ns
    longest = sorted(links, key=lambda link: link.begin_ns - link.end_ns)[:_MAX_LINKS]
    totals = {function: sum(phases.values()) for function, phases in by_function.items()}
    return (
        [_stretch(base, programs, link) for link in sorted(longest, key=lambda link: link.begin_ns)],
        [
            {
                "function": programs.functions[function],
                "is_driver": _is_driver(programs, function),
                "total_ns": totals[function],
                "by_phase": dict(by_function[function]),
                "share": totals[function] / whole,
            }
            for function in sorted(totals, key=lambda one: -totals[one])[:_MAX_LINKS]
        ],
    )


def _stretch(base: Baseline, programs: Programs, link: Link) -> schemas.PathStretch:
    row = programs.attempt[link.run]
    attempts = base.recorded.attempts
    function = programs.function[link.run]
    return {
        "task_id": attempts.task_id(row) if row >= 0 else None,
        "attempt": int(attempts.number[row]) if row >= 0 else None,
        "function": programs.functions[function],
        "is_driver": _is_driver(programs, function),
        "phase": link.phase,
        "begin_ns": link.begin_ns - base.recorded.driver[0],
        "duration_ns": link.end_ns - link.begin_ns,
    }
