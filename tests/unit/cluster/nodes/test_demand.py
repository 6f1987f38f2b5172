"""Why something has no place: which resource, how much of it on the best node."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rayscope.cluster.nodes import schemas
from rayscope.cluster.nodes.demand import Place, Reason, explain, explain_group, remedy
from rayscope.cluster.nodes.status import (
    add_holders,
    explain_missing_workers,
    pending_of,
    short_resources,
)
from rayscope.model.usage import Autoscaler, Demand, Resources

SMALL = Place("small", {"CPU": 4.0, "memory": 8e9}, {"CPU": 1.0, "memory": 8e9}, {"zone": "a"})
LARGE = Place("large", {"CPU": 16.0, "GPU": 2.0, "memory": 64e9}, {"CPU": 2.0, "GPU": 2.0, "memory": 64e9})
NODES = [SMALL, LARGE]


@pytest.mark.parametrize(
    ("demand", "code", "never", "resource", "total", "free", "node"),
    [
        ({"CPU": 1.0}, "fits", False, None, None, None, None),
        ({"CPU": 3.0}, "busy", False, "CPU", 16.0, 2.0, "large"),
        ({"CPU": 32.0}, "too_large", True, "CPU", 16.0, 2.0, "large"),
        ({"TPU": 1.0}, "no_resource", True, "TPU", 0.0, 0.0, None),
        ({"GPU": 3.0, "CPU": 1.0}, "too_large", True, "GPU", 2.0, 2.0, "large"),
        ({"CPU_group_1_" + "ab" * 18: 1.0}, "in_group", False, "CPU_group_1_" + "ab" * 18, None, None, None),
        ({}, "fits", False, None, None, None, None),
    ],
)
def test_one_shape(
    demand: Any, code: str, never: bool, resource: Any, total: Any, free: Any, node: Any
) -> None:
    reason = explain(demand, NODES)
    assert (reason.code, reason.never, reason.resource) == (code, never, resource)
    assert (reason.total, reason.free, reason.node_id) == (total, free, node)
    assert reason.message
    assert remedy(reason).endswith(".")


def test_each_somewhere_but_never_together() -> None:
    places = [Place("a", {"CPU": 8.0, "x": 1.0}, {}), Place("b", {"CPU": 2.0, "GPU": 1.0}, {})]
    reason = explain({"CPU": 4.0, "GPU": 1.0}, places)
    assert (reason.code, reason.never) == ("together", True)


def test_a_node_that_is_drained_takes_nothing_and_labels_must_match() -> None:
    drained = Place("large", LARGE.total, LARGE.total, {"zone": "b"}, is_draining=True)
    assert explain({"CPU": 8.0}, [SMALL, drained]).code == "too_large"
    assert explain({"CPU": 1.0}, NODES, [{"zone": "b"}]).code == "labels"
    assert explain({"CPU": 1.0}, NODES, [{"zone": "b"}, {"zone": "in(a,c)"}]).code == "fits"
    assert explain({"CPU": 1.0}, NODES, [{"zone": "!a"}]).nodes == 1
    assert explain({"CPU": 1.0}, []).code == "no_nodes"


@pytest.mark.parametrize(
    ("strategy", "bundles", "code", "never"),
    [
        ("PACK", [{"CPU": 1.0}, {"CPU": 1.0}], "fits", False),
        ("STRICT_PACK", [{"CPU": 10.0}, {"CPU": 10.0}], "too_large", True),
        ("STRICT_PACK", [{"CPU": 8.0}, {"CPU": 8.0}], "busy", False),
        ("STRICT_SPREAD", [{"CPU": 1.0}] * 3, "few_nodes", True),
        ("SPREAD", [{"CPU": 1.0}] * 3, "fits", False),
        ("PACK", [{"CPU": 12.0}, {"CPU": 12.0}], "cluster_too_small", True),
        ("PACK", [{"CPU": 2.0}, {"CPU": 2.0}], "busy", False),
        ("SPREAD", [{"CPU": 1.0}, {"TPU": 1.0}], "no_resource", True),
    ],
)
def test_placement_groups(strategy: str, bundles: Any, code: str, never: bool) -> None:
    reason = explain_group(strategy, bundles, NODES)
    assert (reason.code, reason.never) == (code, never)


def test_remedies_that_let_a_task_run() -> None:
    assert remedy(explain({"GPU": 3.0}, NODES)) == "Ask for at most 2 GPU, or add a larger node."
    assert remedy(explain({"CPU": 3.0}, NODES)) == (
        "It runs when enough CPU is free on one node: when a holder ends, or a node is added."
    )


@pytest.mark.parametrize(
    ("seconds", "holders", "started", "code"),
    [
        (20, [], {"b"}, "worker_start"),
        (20, [], {"a"}, "busy"),  # what ran for a moment may not be on record yet
        (20, [{"name": "train"}], set(), "busy"),
        (5, [], set(), "busy"),
    ],
)
def test_a_worker_that_does_not_start(seconds: int, holders: Any, started: set[str], code: str) -> None:
    places = [Place("a", {"GPU": 2.0}, {"GPU": 0.0}), Place("b", {"GPU": 1.0}, {"GPU": 0.0})]
    row = {"state": "PENDING", "job_id": None, "since_ns": 0, "count": 1, "runtime_env": None, "id": None}
    wanted = {"required_resources": '{"GPU":2}', "label_selector": None, "placement_group_id": None}
    pending = pending_of([{"kind": "task", "name": "f", **row, **wanted}], Resources(time_ns=1), places)
    pending[0]["holders"] = holders
    explain_missing_workers(pending, places, started, seconds * 10**9)
    reason = pending[0]["reason"]
    assert (reason["code"], reason["node_id"], reason["nodes"]) == (code, "a", 1)


def test_holders_of_scarce_resources() -> None:
    places = [Place("a", {"GPU": 8.0}, {"GPU": 0.0}), Place("b", {"GPU": 1.0}, {"GPU": 0.0})]
    row = {"state": "PENDING", "job_id": None, "since_ns": 9, "count": 1, "runtime_env": None, "id": None}
    asked = {"required_resources": '{"GPU":2}', "label_selector": None, "placement_group_id": None}
    pending = pending_of([{"kind": "task", "name": "train", **row, **asked}], Resources(time_ns=1), places)

    def holder(kind: str, name: str, amount: float, node: str, **more: str) -> dict[str, Any]:
        row = {"kind": kind, "name": name, "id": name, "attempt": None, "since_ns": 1, "bundles": None}
        return {**row, "node_id": node, "required_resources": json.dumps({"GPU": amount}), **more}

    bundles = [{"index": 0, "node_id": "a", "resources": {"GPU": 3}}, {"index": 1, "node_id": "b"}]
    in_group = json.dumps({"GPU_group_" + "ab" * 18: 1})
    rows = [
        *(holder("task", f"t{number}", 0.5, "a") for number in range(4)),
        holder("actor", "Model", 1.0, "a"),
        holder("actor", "Elsewhere", 1.0, "b"),
        holder("task", "inside", 1.0, "a", required_resources=in_group),
        holder("placement_group", "group", 0, "", bundles=json.dumps(bundles)),
    ]
    assert short_resources(pending) == {"GPU"}
    add_holders(pending, {"GPU": rows}, places)
    # Node b has too little of it; what is in a placement group, that holds.
    assert [(one["name"], one["amount"]) for one in pending[0]["holders"]] == [
        ("group", 3.0),
        ("Model", 1.0),
        ("t0", 0.5),
        ("t1", 0.5),
        ("t2", 0.5),
    ]
    assert pending[0]["holders_left_out"] == 1


def test_the_answers_have_the_fields_of_the_structs() -> None:
    assert {*Reason.__struct_fields__, "remedy"} == schemas.ReasonItem.__annotations__.keys()
    assert set(Demand.__struct_fields__) == schemas.Shape.__annotations__.keys()
    assert set(Autoscaler.__struct_fields__) == schemas.AutoscalerStatus.__annotations__.keys()
