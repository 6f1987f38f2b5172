"""The findings about one run that came, went, or stayed in another."""

from __future__ import annotations

from collections.abc import Sequence

from rayscope.compare.schemas import ComparedFinding, FindingChange
from rayscope.insights.schemas import FindingItem

_ORDER: tuple[FindingChange, ...] = ("came", "went", "stayed")
_Key = tuple[str, str | None, str | None, str | None]


def compare_findings(a: Sequence[FindingItem], b: Sequence[FindingItem]) -> list[ComparedFinding]:
    """Match the findings of A and B by their kind and the code that they are about.

    Those that came are first, and within each group those that matter most.
    """
    first, second = _by_key(a), _by_key(b)
    found = [_compared(one, first.get(key), one) for key, one in second.items()]
    found += [_compared(one, one, None) for key, one in first.items() if key not in second]
    return sorted(found, key=lambda one: (_ORDER.index(one["change"]), -max(_shares(one))))


def _by_key(findings: Sequence[FindingItem]) -> dict[_Key, FindingItem]:
    """The finding with the largest share for each key."""
    ordered = sorted(findings, key=lambda one: one["share"])
    return {(one["kind"], one["function"], one["actor_class"], one["caller"]): one for one in ordered}


def _compared(shown: FindingItem, a: FindingItem | None, b: FindingItem | None) -> ComparedFinding:
    return {
        "change": "came" if a is None else "went" if b is None else "stayed",
        "kind": shown["kind"],
        "title": shown["title"],
        "severity": shown["severity"],
        "function": shown["function"],
        "actor_class": shown["actor_class"],
        "caller": shown["caller"],
        "a_share": None if a is None else a["share"],
        "b_share": None if b is None else b["share"],
    }


def _shares(finding: ComparedFinding) -> tuple[float, float]:
    return finding["a_share"] or 0.0, finding["b_share"] or 0.0
