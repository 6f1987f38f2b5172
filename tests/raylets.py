"""Raylets that are asked what their processes hold, each behind a port of its own."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import grpc
from ray.core.generated import node_manager_pb2, node_manager_pb2_grpc

HELD = 300


class Raylet(node_manager_pb2_grpc.NodeManagerServiceServicer):
    """One process with ``HELD`` references; as many of them as are asked for, as Ray does."""

    def __init__(self, number: int, go: threading.Event) -> None:
        self._number, self._go = number, go

    def GetNodeStats(self, request: Any, context: Any) -> Any:
        while context.is_active() and not self._go.wait(0.01):
            pass
        return node_manager_pb2.GetNodeStatsReply()

    def GetObjectsInfo(self, request: Any, context: Any) -> Any:
        reply = node_manager_pb2.GetObjectsInfoReply(total=HELD)
        worker = reply.core_workers_stats.add(pid=1 + self._number)
        for number in range(min(HELD, request.limit or HELD)):
            held = bytes([self._number]) + number.to_bytes(27, "big")
            worker.object_refs.add(object_id=held, object_size=1, local_ref_count=1)
        return reply


@contextlib.contextmanager
def raylets_of(*hangs: bool) -> Iterator[Any]:
    """The GCS of a cluster with raylets, each of which either answers or hangs until ``go`` is set."""
    nodes, servers, go = [], [], threading.Event()
    at_once = threading.Event()
    at_once.set()
    for number, hang in enumerate(hangs):
        server = grpc.server(ThreadPoolExecutor(2))
        raylet = Raylet(number, go if hang else at_once)
        node_manager_pb2_grpc.add_NodeManagerServiceServicer_to_server(raylet, server)
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        servers.append(server)
        node_id = bytes([number] * 28)
        nodes.append(
            SimpleNamespace(
                node_id=node_id, state=0, node_manager_address="127.0.0.1", node_manager_port=port
            )
        )
    try:
        yield SimpleNamespace(nodes=lambda: nodes, metadata=(), go=go)
    finally:
        go.set()
        for server in servers:
            server.stop(None)
