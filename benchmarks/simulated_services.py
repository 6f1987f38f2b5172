"""The GCS, raylets and agents of a simulated cluster (``simulated.py``), in one process.

    python benchmarks/simulated_services.py '{"nodes": 1000, "begun_ns": ...}'

gRPC serves the GCS's tables, key-value store, resources, autoscaler state and the channel for the nodes'
usage; the contents of each node's object store; and its log files. HTTP serves each node's Prometheus text
and the sizes of log files. Each node has its own address in 127.0.0.0/8, all with the same ports. It prints
the address of its GCS.
"""

from __future__ import annotations

import asyncio
import json
import re
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import Any

from rayscope.cli.serving import stop_signals, wait_for_stop
from simulated import (
    CLASSES,
    CPUS,
    GIB,
    GPU_NODES,
    MEMORY,
    STORE,
    Plan,
    S,
    actor,
    group_id,
    instance,
    job_id,
    labels,
    make_id,
    message_of,
    node_id,
    node_ip,
    node_of,
    pid_of,
    resources,
    worker_id,
)

_TEXT = Path(__file__).parent.parent / "tests" / "unit" / "metrics" / "samples" / "ray-2.60.prom"
#: Interval between usage reports of a node, in seconds.
REPORT_S = 5.0


class Cluster:
    """The encoded responses of the cluster's services."""

    def __init__(self, plan: Plan, port: int, http_port: int) -> None:
        from ray.core.generated import (
            autoscaler_pb2,
            gcs_pb2,
            gcs_service_pb2,
            node_manager_pb2,
            reporter_pb2,
        )

        self.plan, self.port, self.http_port = plan, port, http_port
        self._gcs, self._tables, self._scaler = gcs_service_pb2, gcs_pb2, autoscaler_pb2
        self._raylet, self._reporter = node_manager_pb2, reporter_pb2
        self._started = time.monotonic()
        reply = gcs_service_pb2
        self._fixed: dict[str, bytes] = {
            "GetAllNodeInfo": reply.GetAllNodeInfoReply(node_info_list=map(self._node, range(plan.nodes + plan.dead_nodes))),
            "GetAllWorkerInfo": reply.GetAllWorkerInfoReply(worker_table_data=map(self._worker, range(plan.workers))),
            "GetAllActorInfo": reply.GetAllActorInfoReply(actor_table_data=map(self._actor, range(plan.actors))),
            "GetAllJobInfo": reply.GetAllJobInfoReply(job_info_list=map(self._job, range(plan.jobs))),
            "GetAllPlacementGroup": reply.GetAllPlacementGroupReply(
                placement_group_table_data=map(self._group, range(plan.groups))
            ),
            "GetAllResourceUsage": self._resource_usage(),
            "GetClusterStatus": self._status(),
            "GetTaskEvents": reply.GetTaskEventsReply(),
            "GetInternalConfig": reply.GetInternalConfigReply(config="{}"),
            "GcsSubscriberCommandBatch": reply.GcsSubscriberCommandBatchReply(),
            "GetNodeStats": self._store(),
        }  # fmt: skip
        self._fixed = {name: message.SerializeToString() for name, message in self._fixed.items()}
        self._ips = {node_ip(number): number for number in range(plan.nodes)}
        self._text = _prometheus()
        self._lines = "".join(f"2026-11-22 08:00:{n:02},000 INFO step {n} done\n" for n in range(60)).encode()

    def handler(self, method: str) -> tuple[bool, Callable[[bytes, Any], Any]] | None:
        """Whether a method streams, and its handler. None if there is no such method."""
        if method in self._fixed:
            body = self._fixed[method]
            return False, lambda _, __: body
        found = {
            "InternalKVGet": self._value,
            "GcsSubscriberPoll": self._poll,
            "ListLogs": self._list,
            "GetObjectsInfo": self._objects,
        }.get(method)
        if found is not None:
            return False, found
        return (True, self._stream) if method == "StreamLog" else None

    # Tables.

    def _node(self, number: int) -> Any:
        alive = number < self.plan.nodes
        begun_ms = self.plan.begun_ns // 1_000_000
        return self._tables.GcsNodeInfo(
            node_id=node_id(number), node_manager_address=node_ip(number), node_manager_hostname=f"machine-{number:04}",
            node_manager_port=self.port, metrics_export_port=self.http_port, metrics_agent_port=self.port,
            dashboard_agent_listen_port=self.http_port, node_name=node_ip(number), instance_id=f"i-{number:08x}",
            instance_type_name=instance(number), start_time_ms=begun_ms - 7 * 3600_000, is_head_node=number == 0,
            labels=labels(number), resources_total=resources(number), state=0 if alive else 1,
            end_time_ms=0 if alive else begun_ms - 3600_000,
            death_info=None if alive else {"reason": 2, "reason_message": "health check failed due to missing beats"},
        )  # fmt: skip

    def _address(self, node: int, worker: bytes) -> dict[str, Any]:
        return {"node_id": node_id(node), "ip_address": node_ip(node), "worker_id": worker}

    def _worker(self, number: int) -> Any:
        return self._tables.WorkerTableData(
            is_alive=True, worker_type=0, pid=pid_of(self.plan, number), job_id=job_id(number % self.plan.jobs),
            worker_address=self._address(node_of(self.plan, number), worker_id(number)),
            start_time_ms=self.plan.begun_ns // 1_000_000 - 3600_000,
        )  # fmt: skip

    def _actor(self, number: int) -> Any:
        it = actor(self.plan, number)
        data = self._tables.ActorTableData(
            actor_id=it.id, job_id=job_id(it.job), class_name=it.class_name, name=it.name, ray_namespace="train",
            state=("DEPENDENCIES_UNREADY", "PENDING_CREATION", "ALIVE", "RESTARTING", "DEAD").index(it.state),
            required_resources={"CPU": 1.0}, max_restarts=3, num_restarts=int(it.restarts),
            start_time=it.begun_ns // 1_000_000, end_time=(it.ended_ns or 0) // 1_000_000, serialized_runtime_env="{}",
        )  # fmt: skip
        if it.worker is not None:
            data.address.MergeFrom(type(data.address)(**self._address(it.node, worker_id(it.worker))))
            data.pid = pid_of(self.plan, it.worker)
        if it.ended_ns is not None:
            context = data.death_cause.actor_died_error_context
            context.error_message, context.actor_id = message_of(it), it.id
            context.reason = context.DESCRIPTOR.fields_by_name["reason"].enum_type.values_by_name[
                "WORKER_DIED" if it.failed else "REF_DELETED"
            ].number  # fmt: skip
        return data

    def _job(self, number: int) -> Any:
        return self._tables.JobTableData(
            job_id=job_id(number), driver_pid=5000 + number, driver_ip_address=node_ip(0),
            start_time=self.plan.begun_ns // 1_000_000 - 6 * 3600_000, entrypoint=f"python train.py --part {number}",
            driver_address=self._address(0, make_id("driver", number, 28)),
        )  # fmt: skip

    def _group(self, number: int) -> Any:
        placed = number >= self.plan.groups // 20
        identity = group_id(self.plan, number)
        bundles = [
            {"bundle_id": {"placement_group_id": identity, "bundle_index": index}, "unit_resources": {"CPU": 2.0},
             "node_id": node_id((number * 4 + index) % self.plan.nodes) if placed else b""}
            for index in range(4)
        ]  # fmt: skip
        return self._tables.PlacementGroupTableData(
            placement_group_id=identity, name=f"group-{number}", bundles=bundles, strategy=0, state=2 if placed else 0,
            creator_job_id=job_id(number % self.plan.jobs), ray_namespace="train",
            stats={"creation_request_received_ns": self.plan.begun_ns - 3600 * S},
        )  # fmt: skip

    def _resource_usage(self) -> Any:
        reply = self._gcs.GetAllResourceUsageReply()
        for number in range(self.plan.nodes):
            total = resources(number)
            free = total | {"CPU": float(number % 7), "object_store_memory": STORE * (number % 90 + 5) / 100}
            reply.resource_usage_data.batch.add(
                node_id=node_id(number),
                resources_total=total,
                resources_available=free,
                labels=labels(number),
            )
        demands = reply.resource_usage_data.resource_load_by_shape.resource_demands
        demands.add(shape={"GPU": 8.0}, num_infeasible_requests_queued=300)
        for cores in range(2, 12):
            demands.add(shape={"CPU": float(cores)}, num_ready_requests_queued=cores * 3, backlog_size=100)
        load = reply.resource_usage_data.placement_group_load.placement_group_data
        load.extend(self._group(number) for number in range(self.plan.groups // 20))
        return reply

    def _status(self) -> Any:
        reply = self._scaler.GetClusterStatusReply()
        reply.autoscaling_state.autoscaler_state_version = 7
        reply.autoscaling_state.pending_instance_requests.add(ray_node_type_name="cpu-16", count=5)
        reply.autoscaling_state.infeasible_resource_requests.add(resources_bundle={"GPU": 8.0})
        for number in range(self.plan.nodes):
            reply.cluster_resource_state.node_states.add(
                node_id=node_id(number),
                ray_node_type_name=instance(number),
                total_resources=resources(number),
                status=1,
            )
        return reply

    def _store(self) -> Any:
        stats = {"object_store_bytes_used": STORE // 3, "object_store_bytes_avail": STORE * 2 // 3,
                 "object_store_bytes_primary_copy": STORE // 4, "num_local_objects": 40}  # fmt: skip
        return self._raylet.GetNodeStatsReply(store_stats=stats)

    # Responses that depend on the request.

    def _value(self, request: bytes, _: Any) -> bytes:
        key = self._gcs.InternalKVGetRequest.FromString(request).key.decode()
        value = {"session_name": self.plan.session, "CLUSTER_METADATA": '{"ray_version": "2.60.0"}'}.get(
            key, ""
        )
        prefix, _, identity = key.partition(":")
        if prefix == "DASHBOARD_AGENT_ADDR_NODE_ID_PREFIX":
            number = self._numbers.get(identity)
            value = "" if number is None else json.dumps([node_ip(number), self.http_port, self.port])
        return bytes(self._gcs.InternalKVGetReply(value=value.encode()).SerializeToString())

    @property
    def _numbers(self) -> dict[str, int]:
        return _numbers(self.plan.nodes)

    def _poll(self, request: bytes, context: Any) -> bytes:
        """Each node reports its usage every 5 s.

        A slow subscriber gets only the latest report of each node.
        """
        nodes = self.plan.nodes
        seen = self._gcs.GcsSubscriberPollRequest.FromString(request).max_processed_sequence_id
        while True:
            newest = nodes + int((time.monotonic() - self._started) * nodes / REPORT_S)
            if newest > seen:
                break
            time.sleep(REPORT_S / nodes)
        time.sleep(0.05)  # wait for more reports
        newest = nodes + int((time.monotonic() - self._started) * nodes / REPORT_S)
        reply = self._gcs.GcsSubscriberPollReply(publisher_id=make_id("publisher", 0, 28))
        for number in range(max(seen, newest - nodes) + 1, newest + 1):
            node = number % nodes
            reply.pub_messages.add(
                channel_type=8, key_id=b"RAY_REPORTER:" + node_id(node).hex().encode(), sequence_id=number,
                node_resource_usage_message={"json": self.account(node)},
            )  # fmt: skip
        return bytes(reply.SerializeToString())

    def account(self, node: int) -> str:
        """The report of a node's agent about its machine and processes (``StatsPayload``)."""
        now, of = time.time(), self.plan
        used = int(MEMORY * self._share(node, 3))
        workers = [
            {"pid": pid_of(of, number), "createTime": of.begun_ns / S - 3600, "cmdline": ["ray::" + CLASSES[number % 40]],
             "cpuPercent": round(100 * self._share(number, 1), 1), "numFds": 40, "gpuMemoryUsage": 0,
             "memoryInfo": {"rss": 10**8 + number * 1000, "vms": 10**9}, "memoryFullInfo": None, "gpuUtilization": 0,
             "cpuTimes": {"user": 1.0, "system": 0.1, "childrenUser": 0.0, "childrenSystem": 0.0}}
            for number in range(node, of.workers, of.nodes)
        ]  # fmt: skip
        gpus = [
            {"index": index, "name": "NVIDIA H100", "uuid": f"GPU-{node}-{index}", "memoryUsed": 40_000,
             "utilizationGpu": int(100 * self._share(node + index, 2)), "memoryTotal": 81_000, "processesPids": []}
            for index in range(4 if node % GPU_NODES == 0 else 0)
        ]  # fmt: skip
        sent = int(now * 1e6) % 10**15
        return json.dumps({
            "now": now, "hostname": f"machine-{node:04}", "ip": node_ip(node), "cpus": [CPUS, CPUS],
            "cpu": round(100 * self._share(node, 1), 1), "mem": [MEMORY, MEMORY - used, 100 * used / MEMORY, used],
            "shm": GIB, "bootTime": of.begun_ns / S - 86400, "loadAvg": [[4.0, 3.0, 2.0], [0.5, 0.4, 0.3]],
            "disk": {"/": {"total": 500 * GIB, "used": 200 * GIB, "free": 300 * GIB}}, "diskIo": [sent, sent, 1000, 1000],
            "network": [sent, sent], "gpus": gpus, "workers": workers,
            "raylet": {"pid": 100, "cpuPercent": 3.0, "cmdline": ["raylet"], "memoryInfo": {"rss": 10**8, "vms": 10**9}},
            "agent": {"pid": 101, "cpuPercent": 2.0, "cmdline": ["ray::DashboardAgent"],
                      "memoryInfo": {"rss": 10**8, "vms": 10**9}},
        })  # fmt: skip

    def _share(self, number: int, speed: int) -> float:
        """A value from 0 to 1 that differs by number and changes over time."""
        return (number * 37 + int(time.monotonic()) * speed) % 100 / 100

    def _node_number(self, context: Any) -> int:
        """The node whose agent is called. gRPC in Python offers the address only like this."""
        host = context._rpc_event.call_details.host.decode()
        return self._ips.get(host.rpartition(":")[0], 0)

    def _objects(self, _: bytes, context: Any) -> bytes:
        """40 separate objects for each node, and one that all nodes have."""
        node, refs = self._node_number(context), []
        for number in range(41):
            owner = make_id("task", 7 if number == 40 else node * 40 + number, 8) + b"\xff" * 12 + job_id(0)
            refs.append(
                {
                    "object_id": owner + (1).to_bytes(4, "little"),
                    "object_size": 1 << 20,
                    "local_ref_count": 1,
                    "call_site": "train.py:step:17",
                }
            )
        reply = self._raylet.GetObjectsInfoReply(total=len(refs))
        for process in range(4):
            reply.core_workers_stats.add(
                worker_id=worker_id(node + process * self.plan.nodes),
                pid=20_000 + process,
                job_id=job_id(0),
                object_refs=refs[process::4],
            )
        return bytes(reply.SerializeToString())

    def _list(self, _: bytes, context: Any) -> bytes:
        node = self._node_number(context)
        files = ["raylet.out", "dashboard_agent.log"]
        for number in range(node, self.plan.workers, self.plan.nodes):
            job = job_id(number % self.plan.jobs).hex()
            base = f"worker-{worker_id(number).hex()}-{job}-{pid_of(self.plan, number)}"
            files += [f"{base}.out", f"{base}.err"]
        return bytes(self._reporter.ListLogsReply(log_files=files).SerializeToString())

    def _stream(self, request: bytes, context: Any) -> Iterator[bytes]:
        asked = self._reporter.StreamLogRequest.FromString(request)
        context.send_initial_metadata([])
        end = asked.end_offset if asked.end_offset > 0 else None
        data = self._lines[max(0, asked.start_offset) : end]
        yield self._reporter.StreamLogReply(data=data).SerializeToString()

    async def serve_http(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve Prometheus text at /metrics, and the size of a log file for HEAD."""
        number = self._ips.get(writer.get_extra_info("sockname")[0], 0)
        try:
            while request := await reader.readuntil(b"\r\n\r\n"):
                if request.startswith(b"GET /metrics"):
                    share = self._share(number, 1)
                    body = self._text.replace(b"@IP@", node_ip(number).encode())
                    body = body.replace(b"@CPU@", b"%.1f" % (100 * share)).replace(
                        b"@MEM@", b"%d" % (MEMORY * share)
                    )
                    writer.write(
                        b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n"
                        % len(body)
                    )
                    writer.write(body)
                else:
                    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(self._lines))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@lru_cache(maxsize=1)
def _numbers(nodes: int) -> dict[str, int]:
    return {node_id(number).hex(): number for number in range(nodes)}


def _prometheus() -> bytes:
    """A recorded text of Ray, with placeholders for its node's address and main figures."""
    text = re.sub(r"\b192\.0\.2\.\d+\b", "@IP@", _TEXT.read_text())
    text = re.sub(r"(?m)^(ray_node_cpu_utilization\{.*\}) .*$", r"\1 @CPU@", text)
    return re.sub(r"(?m)^(ray_node_mem_used\{.*\}) .*$", r"\1 @MEM@", text).encode()


def main() -> None:
    """Serve until SIGTERM."""
    import grpc

    plan = Plan(**json.loads(sys.argv[1]))
    listening = socket.create_server(("0.0.0.0", 0), backlog=2048)
    server = grpc.server(ThreadPoolExecutor(64), options=[("grpc.max_send_message_length", -1)])
    port = server.add_insecure_port("0.0.0.0:0")
    cluster = Cluster(plan, port, listening.getsockname()[1])

    class Everything(grpc.GenericRpcHandler):  # type: ignore[misc]
        def service(self, details: Any) -> Any:
            found = cluster.handler(details.method.rpartition("/")[2])
            if found is None:
                return None
            streams, answer = found
            return (grpc.unary_stream_rpc_method_handler if streams else grpc.unary_unary_rpc_method_handler)(
                answer
            )

    server.add_generic_rpc_handlers([Everything()])
    server.start()
    loop = asyncio.new_event_loop()

    async def http() -> None:
        await asyncio.start_server(cluster.serve_http, sock=listening)
        await asyncio.Event().wait()

    threading.Thread(target=loop.run_until_complete, args=(http(),), daemon=True).start()
    with stop_signals() as stops:
        print(json.dumps({"address": f"127.0.0.1:{port}", "session": plan.session}), flush=True)
        wait_for_stop(stops)
    server.stop(0)


if __name__ == "__main__":
    main()
