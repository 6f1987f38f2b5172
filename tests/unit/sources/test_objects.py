"""Asking raylets for what their processes hold: shares of the references, and nodes that do not answer."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import grpc
import pytest
from ray.core.generated import node_manager_pb2, node_manager_pb2_grpc

from rayscope.sources.objects import read_objects

HELD = 300


class Raylet(node_manager_pb2_grpc.NodeManagerServiceServicer):
    """One process with ``HELD`` references; as many of them as are asked for, as Ray does."""

    def __init__(self, hangs: bool) -> None:
        self._hangs = hangs

    def GetNodeStats(self, request: Any, context: Any) -> Any:
        while self._hangs and context.is_active():
            time.sleep(0.01)
        return node_manager_pb2.GetNodeStatsReply()

    def GetObjectsInfo(self, request: Any, context: Any) -> Any:
        reply = node_manager_pb2.GetObjectsInfoReply(total=HELD)
        worker = reply.core_workers_stats.add(pid=1)
        for number in range(min(HELD, request.limit or HELD)):
            worker.object_refs.add(object_id=number.to_bytes(28, "big"), object_size=1)
        return reply


@pytest.fixture
def raylets() -> Iterator[Any]:
    """Make the GCS of a cluster with raylets; each either answers or hangs."""
    servers = []

    def make(*hangs: bool) -> Any:
        nodes = []
        for number, one_hangs in enumerate(hangs):
            server = grpc.server(ThreadPoolExecutor(2))
            node_manager_pb2_grpc.add_NodeManagerServiceServicer_to_server(Raylet(one_hangs), server)
            port = server.add_insecure_port("127.0.0.1:0")
            server.start()
            servers.append(server)
            nodes.append(
                SimpleNamespace(
                    node_id=bytes([number] * 28),
                    state=0,
                    node_manager_address="127.0.0.1",
                    node_manager_port=port,
                )
            )
        return SimpleNamespace(nodes=lambda: nodes, metadata=())

    yield make
    for server in servers:
        server.stop(None)


def test_many_nodes_share_what_is_read(raylets: Any) -> None:
    gcs = raylets(False, False)
    read = [len(node.references) for node in read_objects(gcs, 1000, 1000)]
    assert read == [HELD, HELD]
    shared = read_objects(gcs, 1000, 300)
    assert [(len(node.references), node.references_total) for node in shared] == [(150, HELD)] * 2
    one = {node.node_id[:2]: len(node.references) for node in read_objects(gcs, 1000, 300, only="01" * 28)}
    assert one == {"00": 1, "01": HELD}


def test_nodes_that_hang_cost_the_deadline_alone(raylets: Any) -> None:
    began = time.monotonic()
    found = read_objects(raylets(True, False), 1000, 1000, deadline_s=0.5)
    assert time.monotonic() - began < 3
    assert [node.error for node in found] == ["DEADLINE_EXCEEDED", None]
    assert len(found[1].references) == HELD
