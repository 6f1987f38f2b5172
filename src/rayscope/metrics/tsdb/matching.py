"""Selects series with PromQL's label matchers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from rayscope.metrics import regex
from rayscope.model.metric import Labels, Matcher
from rayscope.storage.errors import BadQuery

_OPERATORS = ("=", "!=", "=~", "!~")


def matching(series: Iterable[Labels], matchers: Sequence[Matcher]) -> list[Labels]:
    """The series that all matchers accept, sorted. Raises BadQuery for an invalid operator or pattern."""
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
        texts = list(values)
        hits = regex.matches(f"^(?s:{matcher.value})$", texts)
        accepted = {value for value, hit in zip(texts, hits, strict=True) if hit}
    if matcher.op in ("=", "=~"):
        return lambda value: value in accepted
    return lambda value: value not in accepted
