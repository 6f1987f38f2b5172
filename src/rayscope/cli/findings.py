"""What was found in a job, in words: where, how much it weighs, and what the job's time went into."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rayscope.cli.console import shown
from rayscope.cli.printing import PHASES
from rayscope.units import duration, duration_range

if TYPE_CHECKING:
    from rayscope.client.types import FindingItem, FunctionGain, PathCause

#: Causes that are named.
_CAUSES = 6
#: What only the critical path has beside the phases of an attempt, and calls by other names.
_CAUSE_NAMES = {
    **PHASES,
    "preparing": "driver before its first task",
    "finishing": "driver after its last task",
    "blocked": "results on their way",
    "retrying": "waiting to be retried",
    "unknown": "not known",
}


def where(finding: FindingItem) -> str:
    """Where a finding was found, and whose code that is; "" of one about the whole job."""
    return owned(finding["function"] or finding["actor_class"] or "", finding["origin"])


def owned(name: str, origin: str | None) -> str:
    """A function, and the library that it is of, unless it is the user's."""
    return shown(name if origin in (None, "user") else f"{name} [{origin}]")


def gain(finding: FindingItem) -> str:
    """What the finding weighs."""
    if finding["is_risk"]:
        return "costs nothing so far: nothing waits for it" if finding["on_path_ns"] == 0 else "a risk"
    if finding["saving_ns"] is None:
        return f"costs up to {duration(finding['cost_ns'])}, {finding['share']:.0%}"
    return f"would save {saving(finding)} (9 of 10), {finding['share']:.0%}"


def saving(item: FindingItem | FunctionGain) -> str:
    """The range of the saving in 9 of 10 cases, ``-`` if it is not known."""
    low, high = item["saving_low_ns"], item["saving_high_ns"]
    return "-" if low is None or high is None else duration_range(low, high)


class Share(NamedTuple):
    """A part of a job's time: ``tenths`` of a percent, ``total_ns``."""

    name: str
    total_ns: int
    tenths: int


def shares(causes: Sequence[PathCause], origins: Mapping[str, str | None]) -> list[Share]:
    """The largest causes, and all others together: their tenths of a percent come to 1000."""
    parts = [(_cause(one, origins), one["total_ns"], one["share"]) for one in causes[:_CAUSES]]
    if len(causes) > _CAUSES:
        left = 1 - sum(share for _, _, share in parts)
        whole_ns = causes[0]["total_ns"] / causes[0]["share"]
        parts.append(("other", round(left * whole_ns), left))
    found, reached, before = [], 0.0, 0
    for name, total_ns, share in parts:
        reached += share
        found.append(Share(name, total_ns, round(1000 * reached) - before))
        before = round(1000 * reached)
    return found


def _cause(one: PathCause, origins: Mapping[str, str | None]) -> str:
    if one["phase"] in ("executing", "awaiting"):
        name = owned(one["name"] or "a task", None if one["is_driver"] else origins.get(one["name"]))
        return name if one["phase"] == "executing" else f"{name}, awaiting"
    return _CAUSE_NAMES.get(one["phase"], one["phase"])
