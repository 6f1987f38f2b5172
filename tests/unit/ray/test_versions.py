"""Which versions of Ray are called newer than those that are tested."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rayscope.ray.versions import NEWEST_TESTED, untested, version_note

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("version", "newer"),
    [
        ("2.60.0", None),
        ("2.60.9", None),
        ("2.50.0", None),
        ("2.61.0", "2.61"),
        ("2.100.1", "2.100"),
        ("3.0.0.dev0", "3.0"),
        ("", None),
        (None, None),
        ("nightly", None),
    ],
)
def test_newer_versions_are_noted(version: str | None, newer: str | None) -> None:
    assert untested(version) == newer
    assert bool(version_note(version)) == bool(newer)


def test_the_sentences() -> None:
    old = version_note("2.46.0")
    assert "before 2.50 has no event exporter" in old
    assert "Ray 2.46.0" in old
    assert version_note("2.61.0") == "Ray 2.61 is newer than the newest tested version (2.60)."


def test_the_newest_tested_version_is_tested_and_documented() -> None:
    (tested,) = re.findall(r"RAYS-([\d.,]+),newest\}", (ROOT / "Makefile").read_text())
    assert tested.split(",")[-1] == f"{NEWEST_TESTED}.0"
    for page in ("README.md", "README.zh-CN.md", "docs/index.md"):
        assert re.search(rf"Ray 2\.50 (to|至) {NEWEST_TESTED}\b", (ROOT / page).read_text()), page
