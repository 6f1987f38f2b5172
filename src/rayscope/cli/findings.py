"""The findings of a job as text: places, savings, and the causes of the job's duration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rayscope.cli.console import shown
from rayscope.cli.printing import PHASES
from rayscope.units import duration, duration_range

if TYPE_CHECKING:
    from rayscope.client.types import FindingItem, FunctionGain, PathCause

#: Number of causes to show by name. The others are added up.
_CAUSES = 6
#: Titles of the critical path's phases. Those that attempts do not have, or that are called differently for
#: attempts, are listed after the common ones.
CAUSE_NAMES = {
    **PHASES,
    "preparing": "driver before its first task",
    "finishing": "driver after its last task",
    "blocked": "results on their way",
    "retrying": "waiting to be retried",
    "unknown": "not known",
}


def where(finding: FindingItem) -> str:
    """Return the function or class of a finding with its origin, or "" if it concerns the whole job."""
    return owned(finding["function"] or finding["actor_class"] or "", finding["origin"])


def owned(name: str, origin: str | None) -> str:
    """Return the name of a function, with its library unless the function is the user's."""
    return shown(name if origin in (None, "user") else f"{name} [{origin}]")


def gain(finding: FindingItem) -> str:
    """Describe the saving or cost of a finding."""
    if finding["is_risk"]:
        return "costs no time: nothing waited for it" if finding["on_path_ns"] == 0 else "a risk"
    if finding["saving_ns"] is None:
        return f"costs up to {duration(finding['cost_ns'])}, {finding['share']:.0%}"
    about = f"{duration(finding['saving_ns'])}, {finding['share']:.0%}"
    return f"would save about {about} (9 of 10: {saving(finding)})"


def saving(item: FindingItem | FunctionGain) -> str:
    """Return the range that contains the saving in 9 of 10 cases, or ``-`` if it is unknown."""
    low, high = item["saving_low_ns"], item["saving_high_ns"]
    return "-" if low is None or high is None else duration_range(low, high)


class Share(NamedTuple):
    """A part of a job's time: ``total_ns``, and its share in ``tenths`` of a percent."""

    name: str
    total_ns: int
    tenths: int


def shares(causes: Sequence[PathCause], origins: Mapping[str, str | None]) -> list[Share]:
    """Return the largest causes, and one share for all others. Their tenths of a percent add up to 1000."""
    parts = [(_cause(cause, origins), cause["total_ns"], cause["share"]) for cause in causes[:_CAUSES]]
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


def _cause(cause: PathCause, origins: Mapping[str, str | None]) -> str:
    if cause["phase"] in ("executing", "awaiting"):
        name = owned(cause["name"] or "a task", None if cause["is_driver"] else origins.get(cause["name"]))
        return name if cause["phase"] == "executing" else f"{name}, awaiting"
    return CAUSE_NAMES.get(cause["phase"], cause["phase"])
