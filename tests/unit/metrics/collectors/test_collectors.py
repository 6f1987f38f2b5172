"""Collectors run independently of each other; plug-ins are loaded in the same way as built-in ones."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import metadata
from typing import Any

import pytest
from tests.waiting import TIMEOUT_S, wait_until

from rayscope.metrics.collector import Cluster, Collector, CollectorError, NotDue, load
from rayscope.metrics.collectors import texts
from rayscope.metrics.pool import CollectorPool
from rayscope.metrics.ray_text import RayText
from rayscope.metrics.runner import Runner
from rayscope.metrics.tsdb.store import SeriesStore
from rayscope.model.metric import Family, Sample, sample
from rayscope.model.usage import GpuUse, NodeStats, Usage
from rayscope.ray.agents.scrape import Endpoint, Scraper
from rayscope.ray.gcs.client import GcsError
from rayscope.ray.gcs.node_table import NodeAddress

S = 10**9
T0 = 1_700_000_040 * S


def context(time_ns: int = T0, **given: Any) -> Cluster:
    def none() -> Any:
        raise CollectorError("There is none here.")

    asks = dict.fromkeys(("nodes", "usage", "resources", "text", "figures"), none)
    return Cluster("session", time_ns, **{**asks, "record": lambda *_: {}, **given})


class FakeCollector:
    """A collector that calls a function of the test."""

    interval_s = 0.0

    def __init__(self, what: Callable[[], Iterable[Any]], timeout_s: float = 5) -> None:
        self._what = what
        self.timeout_s = timeout_s

    def collect(self, cluster: Cluster) -> Iterable[Sample | Family]:
        return self._what()


def run(store: SeriesStore, *whats: tuple[str, Collector], steps: int = 1, step_s: int = 5) -> Runner:
    runner = Runner(
        [(name, "test", lambda made=made: made) for name, made in whats],
        step_s,
        lambda at, samples, source, families: store.append(at, samples, source=source, families=families),
        CollectorPool(),
    )
    for step in range(steps):
        runner.tick(lambda: context(), T0 + step * step_s * S)
        wait_until(lambda: runner.check() or not runner.busy(), "the collectors")
        runner.check()
    return runner


class Forbidden(Exception):
    """A plug-in's own error, whose code is not one of ours."""

    code = "busy"


class Warned:
    """Returns samples, and a warning that some are missing."""

    interval_s = 0.0
    timeout_s = 5.0

    def __init__(self, number: int = 1) -> None:
        self.number = number

    def collect(self, cluster: Cluster) -> Iterable[Any]:
        cluster.warnings += [CollectorError("Half of it.", "Wait.", "half", of=2)] * self.number
        return []


def test_failing_slow_and_wrong_collectors_are_reported_and_stop_no_other() -> None:
    store = SeriesStore()
    released = threading.Event()

    def fail() -> Iterable[Any]:
        raise CollectorError("The pump is dry.", "Fill it.")

    def forbid() -> Iterable[Any]:
        raise Forbidden("no")

    def lose() -> Iterable[Any]:
        raise GcsError("It is gone.", "Wait.", "unreachable", address="10.0.0.1:6379")

    def hang() -> Iterable[Any]:
        released.wait(TIMEOUT_S)
        return [sample("hung", 1)]

    runner = run(
        store,
        ("good", FakeCollector(lambda: [Family("good", "gauge"), sample("good", 1, a="b")])),
        ("failing", FakeCollector(fail)),
        ("foreign", FakeCollector(forbid)),
        ("gone", FakeCollector(lose)),
        ("warned", Warned()),
        ("twice", Warned(2)),
        ("slow", FakeCollector(hang, timeout_s=0.2)),
        ("wrong", FakeCollector(lambda: [sample("right", 1), ("bad name", (), 1)])),
        ("unsorted", FakeCollector(lambda: [Sample("x", (("b", "1"), ("a", "1")), 1)])),
        steps=2,
    )
    statuses = {each["name"]: each for each in runner.statuses()}
    assert statuses["good"]["ok"] is True
    assert (statuses["good"]["samples"], statuses["good"]["last_ns"]) == (1, T0 + 5 * S)
    assert (statuses["failing"]["ok"], statuses["failing"]["error"]) == (False, "The pump is dry.")
    assert statuses["failing"]["remedy"] == "Fill it."
    assert (statuses["failing"]["code"], statuses["failing"]["params"]) == (None, {})
    assert (statuses["foreign"]["error"], statuses["foreign"]["code"]) == ("Forbidden: no", None)
    assert (statuses["gone"]["code"], statuses["gone"]["params"]) == (
        "unreachable",
        {"address": "10.0.0.1:6379"},
    )
    assert (statuses["warned"]["ok"], statuses["warned"]["error"]) == (True, "Half of it.")
    assert (statuses["warned"]["code"], statuses["warned"]["params"]) == ("half", {"of": 2})
    assert statuses["warned"]["error"] == "Half of it."
    assert [problem["code"] for problem in statuses["twice"]["problems"]] == ["half", "half"]
    assert statuses["twice"]["code"] is None
    assert statuses["good"]["error"] is statuses["good"]["code"] is statuses["good"]["params"] is None
    assert statuses["slow"]["ok"] is False
    assert "Timed out" in statuses["slow"]["error"]
    assert (statuses["slow"]["code"], statuses["slow"]["params"]["limit"]) == ("collector_late", "0.2")
    assert "is not a sample" in statuses["wrong"]["error"]
    assert "not sorted" in statuses["unsorted"]["error"]
    assert [each.name for each in store.latest()] == ["good"]
    released.set()
    wait_until(
        lambda: not any(thread.name.startswith("rayscope-collect-slow") for thread in threading.enumerate()),
        "it",
    )
    assert [each.name for each in store.latest()] == ["good"]  # late samples do not count
    runner.tick(lambda: context(), T0 + 20 * S)
    wait_until(lambda: "hung" in store.names(), "the slow one is asked again")


class _Cpu(threading.local):
    used_s = 0.0


def test_a_collector_that_costs_much_is_asked_less_often_and_what_is_not_due_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = SeriesStore()
    calls: list[float] = []
    cpu = _Cpu()
    monkeypatch.setattr(time, "thread_time", lambda: cpu.used_s)

    def burn() -> Iterable[Any]:
        calls.append(cpu.used_s)
        cpu.used_s += 0.17
        return [sample("costly", len(calls))]

    turns = iter(range(9))

    def seldom() -> Iterable[Any]:
        if next(turns):
            raise NotDue
        return [sample("seldom", 1)]

    runner = run(store, ("costly", FakeCollector(burn)), ("seldom", FakeCollector(seldom)), steps=3, step_s=1)
    statuses = {each["name"]: each for each in runner.statuses()}
    assert len(calls) == 2  # at 0 and 2 s: 0.17 s of CPU may come every 1.7 s
    assert statuses["costly"]["interval_s"] == pytest.approx(1.7)
    assert statuses["seldom"]["ok"] is True
    assert {each.name for each in store.latest()} == {"costly", "seldom"}


def test_the_built_in_collectors_and_plug_ins_come_by_the_same_door(monkeypatch: pytest.MonkeyPatch) -> None:
    found = load()
    assert {
        *("actors", "gpu", "memory", "network", "node", "objects", "ray", "rayscope", "resources", "tasks")
    } <= found.keys()
    group = "rayscope.collectors"
    extra = [
        metadata.EntryPoint("mine", "tests.unit.metrics.collectors.test_collectors:Mine", group),
        metadata.EntryPoint("broken", "tests.no_such_module:Nothing", group),
    ]
    monkeypatch.setattr("rayscope.metrics.collector.entry_points", lambda group: extra)
    store = SeriesStore()
    runner = run(store, *((name, make()) for name, (_, make) in load().items()))
    statuses = {each["name"]: each for each in runner.statuses()}
    assert statuses["mine"]["ok"] is True
    assert [each.name for each in store.latest()] == ["queue_depth"]
    assert "Could not load" in statuses["broken"]["error"]


class Mine:
    """The example of docs/reference/metrics.md."""

    interval_s = 10.0
    timeout_s = 2.0

    def collect(self, cluster: Cluster) -> Iterable[Sample | Family]:
        yield Family("queue_depth", "gauge", "Messages that wait.", "count")
        yield sample("queue_depth", 3, queue="orders")


@pytest.fixture
def agents() -> Iterable[Callable[[str | Callable[[], str]], int]]:
    """Agents that serve the given texts, or what a function returns: a port each."""
    servers = []

    def start(text: str | Callable[[], str]) -> int:
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                if text == "hang":
                    time.sleep(30)  # the thread does not outlive the process
                body = (text if isinstance(text, str) else text()).encode()
                self.send_response(500 if text == "fail" else 200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                with contextlib.suppress(OSError):
                    self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return int(server.server_address[1])

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def test_endpoints_are_told_apart_and_bad_ones_say_why(agents: Callable[[str], int]) -> None:
    text = 'ray_x{SessionName="s",ip="1"} 1\nray_node_cpu_utilization{ip="1"} 50\nray_y 2\n'
    ports = [agents(text), agents(text.replace("50", "70")), agents("fail")]
    scraper, impatient = Scraper(timeout_s=60), Scraper(timeout_s=0.5)
    endpoints = [Endpoint(f"node{index}", "127.0.0.1", port) for index, port in enumerate([*ports, 1])]
    for _ in range(2):  # the second time over kept connections
        one, two, failing, gone = scraper.scrape(endpoints, 100)
    assert one.error is two.error is None
    assert one.samples[0] == sample("ray_x", 1, ip="1", node_id="node0", node_ip="127.0.0.1")
    assert two.samples[1] == sample(
        "ray_node_cpu_utilization", 70, ip="1", node_id="node1", node_ip="127.0.0.1"
    )
    assert failing.error == "it answered 500"
    assert gone.error is not None
    (hanging,) = impatient.scrape([Endpoint("node4", "127.0.0.1", agents("hang"))], 100)
    assert hanging.error == "it took longer than 0.5 s"
    short = scraper.scrape(endpoints[:1], 1)[0]
    assert [each.name for each in short.samples] == ["ray_node_cpu_utilization"]  # what matters comes first
    assert short.left_out == 2
    scraper.close()
    impatient.close()


def test_a_counter_that_appears_began_at_zero(agents: Callable[[str | Callable[[], str]], int]) -> None:
    """Ray reports every 10 s, so the first value of a counter is often its last, too."""
    shown = ["# TYPE ray_a_total counter\n# TYPE ray_b_ms histogram\n# TYPE ray_c gauge\nray_a_total 7\n"]
    nodes = [NodeAddress("n", "127.0.0.1", agents(lambda: shown[0]), "host", True, True, False, 0)]
    text, store = RayText(5, 1000, "s1"), SeriesStore()
    runner = Runner(
        [("ray", "test", texts.Ray)],
        5,
        lambda at, samples, source, families: store.append(at, samples, source=source, families=families),
        CollectorPool(),
    )
    for at in (T0, T0 + 5 * S, T0 + 10 * S):
        cluster = context(at, nodes=lambda: nodes, text=lambda at=at: text.read(at, nodes))
        runner.tick(lambda cluster=cluster: cluster, at)
        wait_until(lambda: not runner.busy(), "the collector")
        if at == T0:
            shown[0] += 'ray_a_total{of="x"} 3\nray_b_ms_bucket{le="+Inf"} 4\nray_b_ms_count 4\nray_c 5\n'
    text.close()
    values = {
        (name, *dict(series.labels).keys() & {"of"}): series.values.tolist()
        for name in ("ray_a_total", "ray_b_ms_bucket", "ray_b_ms_count", "ray_c")
        for series in store.select(name, (), T0, T0 + 10 * S).series
    }
    assert values == {
        ("ray_a_total",): [7, 7, 7],  # it may have counted for long
        ("ray_a_total", "of"): [0, 3, 3],
        ("ray_b_ms_bucket",): [0, 4, 4],
        ("ray_b_ms_count",): [0, 4, 4],
        ("ray_c",): [5, 5],
    }


def test_a_truncated_text_has_the_same_samples_each_time(
    agents: Callable[[str], int],
) -> None:
    text = (
        "# HELP ray_node_mem_used Used.\n# TYPE ray_node_mem_used gauge\n"
        'ray_x 1\nray_node_mem_used{ip="1"} 5\nray_node_mem_used_more 7\nray_node_cpu_count 4\n'
    )
    scraper = Scraper(timeout_s=5)
    endpoint = Endpoint("n", "127.0.0.1", agents(text))
    readings = [scraper.scrape([endpoint], 12, spread_s=0.1)[0] for _ in range(3)]
    assert {(sample.name, sample.value) for sample in readings[0].samples} == {
        ("ray_node_mem_used", 5),
        ("ray_node_cpu_count", 4),
    }
    assert readings[0].left_out == 2
    for reading in readings[1:]:
        assert (reading.error, reading.samples, reading.left_out) == (None, readings[0].samples, 2)
        assert sorted(reading.families) == sorted(readings[0].families)
    scraper.close()


def test_each_text_collector_returns_its_part_of_one_reading(agents: Callable[[str], int]) -> None:
    port = agents(
        "ray_node_mem_used 5\nray_node_network_sent 6\nray_object_store_used_memory 7\nray_tasks 8\n"
    )
    nodes = [
        NodeAddress("a", "127.0.0.1", port, "host", True, True, False, 0),
        NodeAddress("b", "127.0.0.1", 1, "host", False, True, False, 0),
        NodeAddress("c", "127.0.0.1", 1, "host", False, False, True, T0 - 60 * S),
        NodeAddress("d", "127.0.0.1", 1, "host", False, False, True, T0 - 6000 * S),
        NodeAddress("e", "127.0.0.1", 1, "host", False, False, False, T0 - 60 * S),
    ]
    text = RayText(5, 1000, "s1")
    cluster = context(nodes=lambda: nodes, usage=lambda: Usage(), text=lambda: text.read(T0, nodes))

    def values(collector: Collector) -> dict[str, float]:
        found = [each for each in collector.collect(cluster) if isinstance(each, Sample)]
        return {each.name + dict(each.labels)["node_id"]: each.value for each in found}

    up = {"rayscope_node_upa": 1.0, "rayscope_node_upb": 1.0, "rayscope_node_upc": 0.0}
    assert values(texts.Node()) == {**up, "ray_node_mem_useda": 5}
    assert values(texts.Network()) == {"ray_node_network_senta": 6}
    assert values(texts.Objects()) == {"ray_object_store_used_memorya": 7}
    rest = values(texts.Ray())
    assert (rest["ray_tasksa"], rest["rayscope_scrape_upa"], rest["rayscope_scrape_upb"]) == (8, 1, 0)
    [warning] = cluster.warnings
    assert isinstance(warning, CollectorError)
    assert warning.message.startswith("1 of 2 nodes could not be read: ")
    assert (warning.code, warning.params["number"], warning.params["whole"]) == ("collector_some_nodes", 1, 2)
    assert warning.message.endswith(f"{warning.params['said']}.")
    text.close()
    unreachable = RayText(5, 1000, "s1")
    cluster = context(nodes=lambda: nodes[1:], text=lambda: unreachable.read(T0, nodes[1:]))
    with pytest.raises(CollectorError, match="No node's metrics could be read"):
        list(texts.Network().collect(cluster))
    unreachable.close()


def test_the_head_node_also_serves_metrics_of_the_autoscaler_and_the_dashboard(
    agents: Callable[[str], int],
) -> None:
    """Another cluster on the same machine may have taken the port: its series are not ours."""
    node = agents("ray_tasks 8\n")
    autoscaler = agents(
        "# TYPE autoscaler_active_nodes gauge\n"
        'autoscaler_active_nodes{NodeType="cpu",SessionName="s1"} 2.0\n'
        'autoscaler_active_nodes{NodeType="cpu",SessionName="s2"} 7.0\n'
    )
    ports = (autoscaler, agents("fail"), 1)
    nodes = [NodeAddress("a", "127.0.0.1", node, "host", True, True, False, 0, ports)]
    text = RayText(5, 1000, "s1")
    cluster = context(nodes=lambda: nodes, text=lambda: text.read(T0, nodes))
    samples = [each for each in texts.Ray().collect(cluster) if isinstance(each, Sample)]
    text.close()
    where = {"node_id": "a", "node_ip": "127.0.0.1"}
    assert [each for each in samples if each.name.startswith("autoscaler_")] == [
        sample("autoscaler_active_nodes", 2, NodeType="cpu", **where)
    ]
    assert [each.value for each in samples if each.name == "rayscope_scrape_up"] == [1]
    [warning] = cluster.warnings
    assert isinstance(warning, CollectorError)
    assert warning.code == "collector_head"
    assert warning.params["said"] == f"127.0.0.1:{ports[1]}: it answered 500"


def test_gpus_and_what_each_process_has_of_them(agents: Callable[[str], int]) -> None:
    port = agents(
        'ray_node_gpus_utilization{GpuIndex="0",GpuDeviceName="H100"} 93\nray_node_gram_used{GpuIndex="0"} 1024\n'
    )
    nodes = [NodeAddress("a", "127.0.0.1", port, "host", True, True, False, 0)]
    gpu = GpuUse(index=0, processes={41: 1 << 30, 42: 5})
    old = NodeStats(node_id="b", time_ns=T0 - 60 * S, gpus=(gpu,))
    usage = Usage(nodes={"a": NodeStats(node_id="a", ip="127.0.0.1", time_ns=T0, gpus=(gpu,)), "b": old})
    text = RayText(5, 1000, "s1")
    cluster = context(nodes=lambda: nodes, usage=lambda: usage, text=lambda: text.read(T0, nodes))
    samples = [each for each in texts.Gpu().collect(cluster) if isinstance(each, Sample)]
    text.close()
    where = {"node_id": "a", "node_ip": "127.0.0.1"}
    assert samples == [
        sample("ray_node_gpus_utilization", 93, GpuIndex="0", GpuDeviceName="H100", **where),
        sample("ray_node_gram_used", 1024, GpuIndex="0", **where),
        sample("rayscope_gpu_process_memory_bytes", 1 << 30, gpu="0", pid="41", **where),
        sample("rayscope_gpu_process_memory_bytes", 5, gpu="0", pid="42", **where),
    ]
