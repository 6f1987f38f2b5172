"""Which series a selection means: PromQL's label matchers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from rayscope.metrics import regex
from rayscope.model.metric import Labels, Matcher
from rayscope.storage.errors import BadQuery

_OPERATORS = ("=", "!=", "=~", "!~")


def matching(series: Iterable[Labels], matchers: Sequence[Matcher]) -> list[Labels]:
    """Those series that every matcher accepts, sorted. Raises BadQuery for a bad operator or pattern."""
    found = sorted(series)
    for matcher in matchers:
        values = [dict(labels).get(matcher.label, "") for labels in found]
        accepts = _accepting(matcher, set(values))
        found = [labels for labels, value in zip(found, values, strict=True) if accepts(value)]
    return found


def _accepting(matcher: Matcher, values: set[str]) -> Callable[[str], bool]:
    if matcher.op not in _OPERATORS:
        raise BadQuery(f"Unknown label matcher {matcher.op[:10]!r}.", f"Use one of {', '.join(_OPERATORS)}.")
    if matcher.op in ("=", "!="):
        accepted = {matcher.value}
    else:
        given = list(values)
        hits = regex.matches(f"^(?s:{matcher.value})$", given)
        accepted = {value for value, hit in zip(given, hits, strict=True) if hit}
    if matcher.op in ("=", "=~"):
        return lambda value: value in accepted
    return lambda value: value not in accepted
