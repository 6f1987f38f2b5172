"""Which series a selection means: PromQL's label matchers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

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
        # Arrow's patterns are RE2's, as Prometheus', and take time in proportion to the text alone.
        given = list(values)
        try:
            hits = pc.match_substring_regex(pa.array(given, pa.string()), f"^(?s:{matcher.value})$")
        except (pa.ArrowInvalid, OSError) as error:
            raise BadQuery(
                f"Invalid pattern {matcher.value[:100]!r}: {str(error)[:200]}",
                "Use RE2 syntax: https://github.com/google/re2/wiki/Syntax",
            ) from error
        accepted = {value for value, hit in zip(given, hits.to_pylist(), strict=True) if hit}
    if matcher.op in ("=", "=~"):
        return lambda value: value in accepted
    return lambda value: value not in accepted
