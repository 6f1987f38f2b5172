"""Findings about actions that cost no time but may do harm. There is one for each function and place in the
code, or for each operator and issue of Ray Data.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from rayscope.insights.finding import DRIVER, Facts, Finding


def find_risks(facts: Facts, kind: str, number: str) -> Iterator[Finding]:
    """The risks of a kind (see :class:`rayscope.insights.replay.recorded.Risk`), the most frequent first.

    ``number``: the name of the finding's number that holds their count. Raises NotEnoughData.
    """
    times: Counter[tuple[str, str]] = Counter()
    for one in facts.recorded.risks:
        if one.kind == kind and one.task >= DRIVER:
            times[facts.caller(one.task), one.place] += one.times
    if not times:
        facts.require_tracer("what they did")
    for (function, place), count in times.most_common():
        yield Finding(
            0,
            function=function or None,
            is_risk=True,
            numbers={"place": place, number: count},
            filters={"func_name": function} if function else {},
        )


def find_data_issues(facts: Facts) -> Iterator[Finding]:
    """Issues reported by Ray Data: one finding for each operator and issue, in chronological order.

    Raises NotEnoughData.
    """
    messages: dict[tuple[str, str], str] = {}
    for one in facts.recorded.risks:
        if one.kind == "data_issue":
            messages.setdefault((one.place, one.issue), one.message)
    if not messages:
        facts.require_tracer("what Ray Data reported")
    for (operator, issue), message in messages.items():
        yield Finding(0, is_risk=True, numbers={"operator": operator, "issue": issue, "message": message})
