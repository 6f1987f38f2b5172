"""The addresses of nodes, and which of those that ended have failed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from ray.core.generated import gcs_pb2

from rayscope.ray.gcs.node_table import read_node_addresses


@pytest.mark.parametrize(
    ("reason", "failed"),
    [
        ("UNSPECIFIED", True),
        ("EXPECTED_TERMINATION", False),
        ("UNEXPECTED_TERMINATION", True),
        ("AUTOSCALER_DRAIN_PREEMPTED", False),
        ("AUTOSCALER_DRAIN_IDLE", False),
    ],
)
def test_a_node_that_was_stopped_or_drained_has_not_failed(reason: str, failed: bool) -> None:
    info = gcs_pb2.GcsNodeInfo(
        node_id=b"a" * 28, node_manager_address="10.0.0.1", state="DEAD", end_time_ms=5
    )
    reasons = info.death_info.DESCRIPTOR.fields_by_name["reason"].enum_type.values_by_name
    info.death_info.reason = reasons[reason].number
    client: Any = SimpleNamespace(nodes=lambda: [info, gcs_pb2.GcsNodeInfo(node_id=b"b" * 28, state="ALIVE")])
    ended, living = read_node_addresses(client)
    assert (ended.failed, ended.alive, ended.ended_ns) == (failed, False, 5_000_000)
    assert (living.failed, living.alive, living.ended_ns) == (False, True, 0)


def test_the_head_node_has_ports_and_never_another_host() -> None:
    values = {b"AutoscalerMetricsAddress": b"10.9.9.9:44217", b"DashboardMetricsAddress": b"nonsense:99999"}
    head = gcs_pb2.GcsNodeInfo(node_id=b"a" * 28, node_manager_address="10.0.0.1", is_head_node=True)
    worker = gcs_pb2.GcsNodeInfo(node_id=b"b" * 28, node_manager_address="10.0.0.2")
    client: Any = SimpleNamespace(nodes=lambda: [head, worker], internal_kv=lambda key, _: values.get(key))
    found = read_node_addresses(client)
    assert [(node.host, node.head_ports) for node in found] == [("10.0.0.1", (44217,)), ("10.0.0.2", ())]
