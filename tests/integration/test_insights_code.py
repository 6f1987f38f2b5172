"""Ray's anti-patterns: findings in programs with and without them."""

from __future__ import annotations

from typing import Any

import pytest
from tests.detector_programs import BENCHMARKS, findings

pytestmark = [pytest.mark.ray]

PROGRAMS = BENCHMARKS / "detector_programs_code.py"
RISKS = BENCHMARKS / "detector_programs_risks.py"
#: The expected finding in the bad program of each pair, and its place.
EXPECTED_FUNCTIONS = {
    "large_argument": "count",
    "large_closure": "look_up",
    "nested_get": "add",
    "redefined_function": "double",
    "return_put": "load",
    "unnecessary_get": "make",
}
#: Other programs, and the problem that they only resemble.
LOOK_ALIKES = [
    ("growing", "get_in_loop"),
    ("other_arguments", "large_argument"),
    ("shared_put", "return_put"),
]


@pytest.mark.long
@pytest.mark.parametrize("kind", EXPECTED_FUNCTIONS)
def test_a_detector_finds_the_bad_program_and_not_the_good_one(cluster: Any, kind: str) -> None:
    bad = findings(cluster, PROGRAMS, f"{kind}_bad", kind)
    assert EXPECTED_FUNCTIONS[kind] in bad[kind]["function"]
    assert bad[kind]["severity"] in ("critical", "warning")
    assert kind not in findings(cluster, PROGRAMS, f"{kind}_good")


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "program"),
    [
        ("forked_process", "forked_process"),
        ("out_of_band_reference", "out_of_band_reference"),
        ("out_of_band_reference", "captured_reference"),
    ],
)
def test_a_risk_is_found_where_it_is_in_the_code(cluster: Any, kind: str, program: str) -> None:
    found = findings(cluster, RISKS, f"{program}_bad", kind)[kind]
    assert found["is_risk"]
    assert found["numbers"]["place"].startswith(f"{RISKS.name}:")
    assert found["numbers"]["place"].endswith(f"({program}_bad)")


@pytest.mark.long
@pytest.mark.parametrize("kind", ["forked_process", "out_of_band_reference"])
def test_a_program_that_does_the_same_without_a_risk(cluster: Any, kind: str) -> None:
    assert kind not in findings(cluster, RISKS, f"{kind}_good")


@pytest.mark.long
def test_issues_that_ray_data_reports(cluster: Any) -> None:
    found = findings(cluster, RISKS, "data_issue_bad", "data_issue")["data_issue"]
    assert found["is_risk"]
    assert "Map(look_up)" in found["numbers"]["operator"]
    assert found["numbers"]["issue"] == "hanging"
    assert found["numbers"]["message"].startswith("A task ")
    assert "data_issue" not in findings(cluster, RISKS, "data_issue_good")


@pytest.mark.long
@pytest.mark.parametrize(("program", "kind"), LOOK_ALIKES)
def test_a_detector_finds_nothing_in_a_program_that_looks_alike(
    cluster: Any, program: str, kind: str
) -> None:
    assert kind not in findings(cluster, PROGRAMS, f"{program}_good")
