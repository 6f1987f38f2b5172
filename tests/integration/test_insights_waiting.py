"""Findings about waiting: programs that wait needlessly have them, others do not."""

from __future__ import annotations

from typing import Any

import pytest
from tests.detector_programs import BENCHMARKS, findings

pytestmark = [pytest.mark.ray]

PROGRAMS = BENCHMARKS / "detector_programs_waiting.py"
GROUP = "unschedulable_group"
#: Where the finding about the bad program of each pair is: one of these. None: it names no place.
EXPECTED_PLACES: dict[str, tuple[str, ...] | None] = {
    "deadlock": ("inner",),
    "hang": ("Player.ping",),
    "idle_actors": ("Service",),
    "idle_gap": ("prepare", "train"),
    "pending_resources": ("evaluate",),
    "short_lived_actors": ("Parser",),
    "unbounded_pending": ("small",),
    "unschedulable_group": None,
}


@pytest.mark.parametrize(
    "kind",
    [
        "unschedulable_group",
        *(pytest.param(kind, marks=pytest.mark.long) for kind in sorted(EXPECTED_PLACES)[:-1]),
    ],
)
def test_a_detector_finds_the_bad_program_and_not_the_good_one(cluster: Any, kind: str) -> None:
    bad = findings(cluster, PROGRAMS, f"{kind}_bad", kind)
    where = bad[kind]["function"] or bad[kind]["actor_class"]
    places = EXPECTED_PLACES[kind]
    assert where is None if places is None else any(place in where for place in places), where
    # Too many pending tasks cost memory, and little time.
    assert kind == "unbounded_pending" or bad[kind]["severity"] in ("critical", "warning")
    assert kind not in findings(cluster, PROGRAMS, f"{kind}_good")


@pytest.mark.long
def test_a_placement_group_costs_what_was_waited_for_it(cluster: Any) -> None:
    for name in ("bad", "got"):
        found = findings(cluster, PROGRAMS, f"unschedulable_group_{name}", GROUP)[GROUP]
        assert found["on_path_ns"] >= found["cost_ns"] >= 3_900_000_000
    found = findings(cluster, PROGRAMS, "unschedulable_group_ignored", GROUP)[GROUP]
    assert found["on_path_ns"] == found["cost_ns"] == 0
    assert found["is_risk"]
