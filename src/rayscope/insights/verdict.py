"""Sums up a job in one sentence: its bottleneck, and what would help most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, cast

from rayscope.insights import schemas
from rayscope.units import duration, duration_range
from rayscope.views.critical_path.compute import Cause
from rayscope.views.critical_path.schemas import PathActor

#: A remedy must save at least this share of the job's time.
_MIN_SAVING_SHARE = 0.01
_BOUND_BY: dict[schemas.Bottleneck, str] = {
    "driver": "Bound by the driver: it ran for {took} of {whole}.",
    "actor": "Bound by one actor: {name} ran for {took} of {whole} while other calls waited for it.",
    "cluster": "Bound by the size of the cluster: {name} ran for {took} of {whole} while other tasks waited "
    "for room.",
    "actors": "Bound by several actors: {name} ran for {took} of {whole} while other calls waited for it.",
    "function": "Bound by one function: {name} ran for {took} of {whole}.",
    "awaiting": "Bound by an async method: {name} awaited for {took} of {whole}.",
    "waiting_args": "Bound by data: tasks waited for their arguments for {took} of {whole}.",
    "waiting_node": "Bound by resources: tasks waited for them for {took} of {whole}.",
    "starting_worker": "Bound by worker start-up: tasks waited for new workers for {took} of {whole}.",
    "queued": "Bound by queues: tasks waited in front of their worker for {took} of {whole}.",
    "loading": "Bound by loading code: it took {took} of {whole}.",
    "fetching": "Bound by data: tasks fetched and unpacked their arguments for {took} of {whole}.",
    "storing": "Bound by data: tasks stored their results for {took} of {whole}.",
    "blocked": "Bound by results on their way: {took} of {whole} passed after they were made.",
    "preparing": "Bound by what comes before the first task: the driver prepared for {took} of {whole}.",
    "finishing": "Bound by what comes after the last task: the driver went on for {took} of {whole}.",
    "retrying": "Bound by failures: tasks waited to be tried again for {took} of {whole}.",
    "unknown": "For {took} of {whole} nobody knows what the job waited for.",
}
#: Importing, connecting and shutting down take a few seconds in any job. They count as the bottleneck only if
#: they take more than half of the job.
_STARTUP_PHASES = ("preparing", "finishing")
#: Causes below this share of the path are not explained.
_MIN_EXPLAINED_SHARE = 0.15
_SPANS = "Mark its parts with rayscope.span to see which takes long."
_EXPLANATIONS = {
    "executing": "{name} itself ran for {took}. Its hottest lines, or rayscope.span in its code, tell "
    "which part takes long.",
    "awaiting": "{name} awaited for {took}: it slept, or waited for I/O, a lock, or its turn in the "
    "event loop.",
    "driver": f"The driver's own code ran for {{took}}. {_SPANS}",
    "preparing": f"The driver ran for {{took}} before its first task. {_SPANS}",
    "finishing": f"The driver ran for {{took}} after its last task. {_SPANS}",
    "waiting_args": "Tasks waited {took} for their arguments, mostly {name}.",
    "waiting_node": "Tasks waited {took} for resources, mostly {name}. The page of nodes shows who held "
    "them.",
    "starting_worker": "Tasks waited {took} for workers to start and import modules, mostly {name}. Fewer "
    "and longer tasks, reused actors, and one runtime environment start fewer workers.",
    "queued": "Calls waited {took} in front of a busy worker or actor, mostly {name}.",
    "loading": "Workers loaded code for {took}, mostly of {name}.",
    "fetching": "Tasks fetched and unpacked their arguments for {took}, mostly {name}.",
    "storing": "Tasks stored their results for {took}, mostly {name}.",
    "blocked": "{took} passed after results were made and before {name} went on.",
    "retrying": "Failed tasks waited {took} to be tried again, mostly {name}.",
    "unknown": "What the job did for {took} is not recorded. The tracer tells who waits for whom: start the "
    "program with rayscope run.",
}
_OPTIONS: dict[schemas.GainOption, str] = {
    "no_startup": "No worker start-up",
    "no_stragglers": "No stragglers",
    "no_retries": "No retries",
    "no_transfer": "No fetching of values",
    "twice_the_cpus": "Twice the CPUs",
}
#: The option that would remove a bottleneck.
_OPTION_OF: dict[schemas.Bottleneck, schemas.GainOption] = {
    "cluster": "twice_the_cpus",
    "starting_worker": "no_startup",
    "retrying": "no_retries",
    "fetching": "no_transfer",
}


class Remedy(NamedTuple):
    """A remedy: a ``finding`` (``name`` is its kind), a ``function`` at half its time, or an ``option``.

    ``gain``: the predicted saving, or None if no replay can predict it: then ``cost_ns`` is what the finding
    costs at most. ``place``: the function or class of actors of a finding.
    """

    kind: schemas.RemedyKind
    name: str
    place: str
    gain: schemas.Saving | None
    words: str
    cost_ns: int = 0


def judge(
    recorded_ns: int,
    causes: Sequence[Cause],
    calls: set[str],
    findings: Sequence[schemas.FindingItem],
    functions: Sequence[schemas.FunctionGain],
    options: Sequence[schemas.OptionGain],
    actors: Mapping[str, PathActor] | None = None,
    *,
    so_far: bool = False,
) -> schemas.Verdict | None:
    """The bottleneck of a job and its remedy, or None if no causes are known.

    ``causes``: the causes of the critical path, the largest first; ``calls``: the functions that are methods
    of actors; ``actors``: for each function, the actor on which it took most of its time; ``so_far``: the
    job is still running.
    """
    if so_far:
        # More tasks may follow, and the newest are not reported yet.
        causes = [one for one in causes if one.phase != "finishing"]
    if not causes:
        return None
    around = sum(one.total_ns for one in causes if one.phase in _STARTUP_PHASES)
    within = [one for one in causes if one.phase not in _STARTUP_PHASES]
    cause = within[0] if within and around <= recorded_ns / 2 else causes[0]
    code: schemas.Bottleneck = next((known for known in _BOUND_BY if known == cause.phase), "unknown")
    if cause.phase == "executing" and cause.is_driver:
        code = "driver"
    elif cause.phase == "executing":
        waited = cause.held_ns > cause.total_ns / 2
        code = ("actor" if cause.name in calls else "cluster") if waited else "function"
    total_ns = cause.total_ns
    actor = (actors or {}).get(cause.name) if code in ("actor", "awaiting", "function") else None
    name = cause.name or "a task"
    if actor is not None and actor["actors"] > 1 and actor["total_ns"] <= total_ns / 2:
        code = "actors" if code == "actor" else code
        name += f" (most on {_place(actor)})"
    elif actor is not None:
        # A sentence about one actor gives the time of that actor.
        total_ns = min(total_ns, actor["total_ns"])
        name += f" ({_place(actor)})"
    text = _BOUND_BY[code].format(name=name, took=duration(total_ns), whole=duration(recorded_ns))
    remedy = _remedy(code, findings, functions, options)
    gain = remedy.gain if remedy is not None else None
    if gain is not None and gain["saving_ns"] < _MIN_SAVING_SHARE * recorded_ns:
        remedy = gain = None
    if gain is not None and remedy is not None:
        share = gain["saving_ns"] / max(1, recorded_ns)
        about = f"about {duration(gain['saving_ns'])}, {share:.0%}"
        between = duration_range(gain["saving_low_ns"], gain["saving_high_ns"])
        text += f" {remedy.words} would save {about} (9 of 10: {between})."
    elif remedy is not None:
        share = remedy.cost_ns / max(1, recorded_ns)
        text += f" Start with {remedy.words}: it costs up to {duration(remedy.cost_ns)}, {share:.0%}."
    return {
        "code": code,
        "name": cause.name,
        "total_ns": total_ns,
        "share": total_ns / max(1, recorded_ns),
        "remedy": remedy and remedy.kind,
        "remedy_name": remedy and remedy.name,
        "remedy_place": remedy and remedy.place,
        "saving_ns": gain and gain["saving_ns"],
        "saving_low_ns": gain and gain["saving_low_ns"],
        "saving_high_ns": gain and gain["saving_high_ns"],
        "text": text,
        "actor": actor,
    }


def explain(cause: Cause, recorded_ns: int, *, so_far: bool = False) -> str:
    """A sentence about a large cause with its time, its function, and how to learn more; "" for a small
    cause, and for the time after the last task of a job that is running ``so_far``.
    """
    if cause.total_ns < _MIN_EXPLAINED_SHARE * recorded_ns or (so_far and cause.phase == "finishing"):
        return ""
    code = "driver" if cause.phase == "executing" and cause.is_driver else cause.phase
    name = "the driver" if cause.is_driver else cause.name or "a task"
    text = _EXPLANATIONS.get(code, _EXPLANATIONS["unknown"])
    return text.format(name=name, took=duration(cause.total_ns))


def _place(actor: PathActor) -> str:
    """The label of an actor: its process and host, or its ID."""
    on = f" @ {actor['host']}" if actor["host"] else ""
    return f"actor {actor['actor_id'][:8]}" if actor["pid"] is None else f"pid {actor['pid']}{on}"


def _remedy(
    code: schemas.Bottleneck,
    findings: Sequence[schemas.FindingItem],
    functions: Sequence[schemas.FunctionGain],
    options: Sequence[schemas.OptionGain],
) -> Remedy | None:
    """The best remedy: the finding that costs most if no replay can predict its saving and nothing else saves
    half as much, else the best one with a predicted saving.
    """
    best = _predicted(code, findings, functions, options)
    unpredicted = [one for one in findings if one["saving_ns"] is None and not one["is_risk"]]
    worst = max(unpredicted, key=lambda one: one["cost_ns"], default=None)
    saved_ns = best.gain["saving_ns"] if best is not None and best.gain is not None else 0
    if worst is None or saved_ns >= worst["cost_ns"] / 2:
        return best
    place = _place_of(worst)
    return Remedy("finding", worst["kind"], place, None, _quoted(worst["title"], place), worst["cost_ns"])


def _predicted(
    code: schemas.Bottleneck,
    findings: Sequence[schemas.FindingItem],
    functions: Sequence[schemas.FunctionGain],
    options: Sequence[schemas.OptionGain],
) -> Remedy | None:
    """The finding with the largest predicted saving, or what would remove the bottleneck if that saves more.
    Without either, the function with the largest gain.
    """
    predicted = [one for one in findings if one["saving_ns"] is not None]
    finding = max(predicted, key=lambda one: one["saving_ns"] or 0, default=None)
    option = next((one for one in options if one["option"] == _OPTION_OF.get(code)), None)
    saved_ns = (finding and finding["saving_ns"]) or 0
    if option is not None and option["saving_ns"] > saved_ns:
        return Remedy("option", option["option"], "", option, _OPTIONS[option["option"]])
    if finding is not None:
        place = _place_of(finding)
        words = f"Fixing {_quoted(finding['title'], place)}"
        return Remedy("finding", finding["kind"], place, cast(schemas.Saving, finding), words)
    candidates = [one for one in functions if code == "driver" or not one["is_driver"]]
    if not candidates:
        return None
    best = candidates[0]
    name = "The driver" if best["is_driver"] else best["function"]
    return Remedy("function", best["function"], "", best, f"{name} at half its time")


def _place_of(finding: schemas.FindingItem) -> str:
    return finding["function"] or finding["actor_class"] or ""


def _quoted(title: str, place: str) -> str:
    return f"“{title}”" + (f" ({place})" if place else "")
