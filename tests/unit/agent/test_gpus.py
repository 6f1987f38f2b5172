"""How an agent reads NVML. tests/unit/cluster/placement/test_gpu_use.py shows what becomes of it."""

from __future__ import annotations

import sys
import threading
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from tests.nvml import PERIOD_US, RecordedGpu, RecordedNvml, duty
from tests.waiting import wait_until

from rayscope.agent import entry, gpus, report
from rayscope.agent.gpus import Watcher, ray_indices
from rayscope.agent.settings import WATCH_GPUS
from rayscope.model.agent import GpuBatch
from rayscope.storage.schema import ENTITY_COLUMNS

ORIGIN_NS = 1_760_000_000_000_000_000
S = 10**9


def sampled(gpu: RecordedGpu, seconds: int) -> list[dict[str, Any]]:
    """The batches after looks at a GPU during this time."""
    nvml, reporter = RecordedNvml(gpu), report.Reporter()
    watcher = Watcher(nvml, reporter, ORIGIN_NS)
    for second in range(1, seconds + 1):
        nvml.now_ns = ORIGIN_NS + second * S
        watcher.look(nvml.now_ns)
    said: list[dict[str, Any]] = reporter.report()["gpus"]
    return said


def test_samples_cover_the_time_without_gaps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpus, "_sees_pids", lambda: True)
    batches = sampled(RecordedGpu(ORIGIN_NS, duty(30, 0, 90_000), memory={100: 7}), 70)
    assert [batch["end_ns"] - ORIGIN_NS for batch in batches] == [30 * S, 60 * S, 70 * S]
    end_ns = ORIGIN_NS
    for batch in batches:
        assert batch["begin_ns"] - end_ns == pytest.approx(0, abs=1_000_000)
        times = [
            batch["begin_ns"] + 1_000_000 * ms for begin, end, _ in batch["samples"] for ms in (begin, end)
        ]
        assert times == sorted(times)
        # NVML's times are µs: a period is a sixth of a second.
        shortest = min(end - begin for begin, end, _ in batch["samples"][1:])
        assert shortest == pytest.approx(PERIOD_US / 1000, abs=1)
        end_ns = times[-1]
        assert [look[1] for look in batch["looks"]] == [507] * len(batch["looks"])
        assert all(set(look[4]) == {"100"} for look in batch["looks"])
        decoded = msgspec.convert(batch, GpuBatch)
        assert {"node_id", *decoded.sums(), *msgspec.structs.asdict(decoded)} == {
            name for name, _ in ENTITY_COLUMNS["gpu_sample"]
        }


def test_equal_samples_are_one() -> None:
    (batch,) = sampled(RecordedGpu(ORIGIN_NS, []), 29)
    assert len(batch["samples"]) == 1
    assert batch["samples"][0][2] == 0


def test_positions_in_cuda_visible_devices() -> None:
    uuids = ["GPU-aaaa", "GPU-bbbb", "GPU-cccc"]
    assert ray_indices(None, uuids) == [0, 1, 2]
    assert ray_indices("2,0", uuids) == [1, None, 0]
    assert ray_indices(" GPU-bb ,7", uuids) == [None, 0, None]
    assert ray_indices("", uuids) == [None] * 3


def test_batches_wait_in_a_limited_number() -> None:
    reporter = report.Reporter()
    for number in range(report.MAX_GPU_BATCHES + 5):
        reporter.gpu_sampled({"gpu_uuid": "GPU-1", "begin_ns": number})
    said = reporter.report()["gpus"]
    assert [batch["begin_ns"] for batch in said] == list(range(5, 13))
    grown = {"gpu_uuid": "GPU-1", "begin_ns": 5, "end_ns": 9}
    reporter.gpu_sampled(grown)  # while the report is under way
    reporter.forget_gpus(said)
    assert [batch["begin_ns"] for batch in reporter.report()["gpus"]] == [5, *range(13, 20)]
    assert reporter.report()["gpus"][0] is grown


def test_only_a_node_with_gpus_is_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    is_started = threading.Event()
    monkeypatch.setattr(Watcher, "look", lambda *_: is_started.set())
    monkeypatch.setattr(gpus, "EVERY_S", 3600)
    reporter = report.Reporter()

    def has(*recorded: RecordedGpu) -> None:
        monkeypatch.setattr(gpus.importlib, "import_module", lambda _: RecordedNvml(*recorded))

    has()
    entry.watch_gpus(reporter)
    has(RecordedGpu(ORIGIN_NS, []))
    monkeypatch.setenv(WATCH_GPUS, "0")
    entry.watch_gpus(reporter)
    assert not is_started.is_set()
    monkeypatch.delenv(WATCH_GPUS)
    entry.watch_gpus(reporter)
    wait_until(is_started.is_set, "the thread")


def test_without_a_driver_nothing_happens() -> None:
    before = threading.active_count()
    gpus.start(report.Reporter())  # with the real pynvml
    assert threading.active_count() - before in (0, 1)  # 1 on a machine with a GPU


def test_without_pynvml_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray._private.thirdparty.pynvml", None)
    monkeypatch.setitem(sys.modules, "pynvml", SimpleNamespace())
    gpus.start(report.Reporter())
