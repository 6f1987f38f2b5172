"""The words of PromQL that the explorer completes are those that can be evaluated."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest

from rayscope.metrics.promql.evaluate import check
from rayscope.storage.errors import BadQuery

WORDS = json.loads((Path(__file__).parents[4] / "web/src/pages/metrics/promql.json").read_text())
#: Ways to write a word; one of them is that of each.
FORMS = [
    "{}(m)",
    "{}()",
    "{}(1)",
    "{}(1, m)",
    "{}(m, 1)",
    "{}(m, 1, 2)",
    "{}(m[5m])",
    "{}(m[5m], 1)",
    "{}(1, m[5m])",
    "{}(m[5m], 0.5, 0.5)",
    '{}("a", m)',
    '{}(m, "a", "", "b", "")',
    '{}(m, "a", "", "b")',
    "m {} m",
    "m {} 5m",
    "sum {} (a) (m)",
    "m + {} (a) m",
    "m + on (a) {} () m",
    "m < {} 1",
    "m @ {}",
]


@pytest.mark.parametrize("word", WORDS)
def test_completed_expressions_can_be_evaluated(word: str) -> None:
    for form in FORMS:
        with contextlib.suppress(BadQuery):
            check(form.format(word))
            return
    pytest.fail(f"{word} cannot be evaluated")
