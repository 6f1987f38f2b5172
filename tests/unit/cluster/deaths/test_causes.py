"""The documentation of causes."""

from __future__ import annotations

import re
from pathlib import Path

from rayscope.cluster.deaths.causes import CAUSES

PAGE = Path(__file__).parents[4] / "docs/reference/deaths.md"


def test_the_documentation_lists_each_cause_and_whether_it_is_expected() -> None:
    causes = PAGE.read_text().partition("## Causes")[2]
    rows = re.findall(r"^\| `(\w+)` \| .* \| (yes)? ?\|$", causes, re.MULTILINE)
    documented = {code: bool(expected) for code, expected in rows}
    assert documented.pop("unknown") is False
    assert documented == {code: cause.is_expected for code, cause in CAUSES.items()}
