"""Findings about programs that use data, resources and machines badly or well, on a real Ray."""

from __future__ import annotations

from typing import Any

import pytest
from tests.detector_programs import BENCHMARKS, findings

pytestmark = [pytest.mark.ray]

PROGRAMS = BENCHMARKS / "detector_programs_machines.py"
#: The expected finding in the bad program of each pair, and its place.
EXPECTED_PLACES = {
    "actor_memory_grows": "Keeper",
    "data_skew": "aggregate",
    "leaked_objects": "read",
    "locality": "measure",
    "many_objects_get": "array",
    "node_death": "load",
    "object_store_full": "produce",
    "oom_kill": "load",
    "over_asked_cpus": "download",
    "reconstruction": "load",
    "serialization": "count",
    "single_core_actor": "Cruncher",
    "slow_node": "train",
    "under_asked_cpus": "digest",
    "worker_startup": None,
}
#: Where it matters how busy the machine is, also with other tests.
MARKS = dict.fromkeys(EXPECTED_PLACES, (pytest.mark.long,)) | {
    "data_skew": (),
    "over_asked_cpus": (pytest.mark.long, pytest.mark.quiet),
    "single_core_actor": (pytest.mark.long, pytest.mark.quiet),
}


@pytest.mark.parametrize("kind", [pytest.param(kind, marks=MARKS[kind]) for kind in EXPECTED_PLACES])
def test_a_detector_finds_the_bad_program_and_not_the_good_one(cluster: Any, kind: str) -> None:
    bad = findings(cluster, PROGRAMS, f"{kind}_bad", kind)
    where = bad[kind]["function"] or bad[kind]["actor_class"]
    assert where == EXPECTED_PLACES[kind] if EXPECTED_PLACES[kind] is None else EXPECTED_PLACES[kind] in where
    assert bad[kind]["severity"] in ("critical", "warning") or bad[kind]["is_risk"]
    assert kind not in findings(cluster, PROGRAMS, f"{kind}_good")
